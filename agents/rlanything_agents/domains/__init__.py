"""What training knows of a domain besides its environment: demonstrators, step labels, short texts, prompts.
Nothing else needs the name of a domain.
"""
