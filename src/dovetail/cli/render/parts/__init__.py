"""Parts that several renderings use: tables, bars, spans of time, states, funnels, scores."""
