"""Knowledge: what a word brings to mind. Keywords, ConceptNet, the VAD lexicon, word vectors, CKECE."""
