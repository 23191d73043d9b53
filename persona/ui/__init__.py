"""The pages; with app.py the only code that imports streamlit."""
