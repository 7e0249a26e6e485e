"""Words: names and sentences cut into terms, Chinese, words near in meaning, dates."""
