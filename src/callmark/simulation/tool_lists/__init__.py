"""Operations of a plain tool list: what each tool does and returns is inferred from names, descriptions and schemas."""
