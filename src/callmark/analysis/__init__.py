"""What many grades come to: values in, values out."""
