"""Studies: people judge systems, and dialogues are collected, in a page that works"""
