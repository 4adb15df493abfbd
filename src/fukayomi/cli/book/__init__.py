"""Commands on opening books (定跡)."""
