"""What people look at: tables, flows and charts in the terminal."""
