"""The agent: recognise, plan, know, respond, guard."""
