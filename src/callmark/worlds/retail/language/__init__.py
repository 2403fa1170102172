"""English phrases of the retail store: a grammar of templates, and noun phrases for products, payments and addresses."""
