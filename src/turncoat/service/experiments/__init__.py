"""Experiments: decisions are drawn and recorded, rewards recorded and learned from, settings changed and audited."""
