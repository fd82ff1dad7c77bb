"""Pages for people: sections as data, and the self-contained HTML page that is made of them.

`sections` says what a page can hold; `models.report.markdown` renders the same sections as
Markdown. `page` makes one HTML file without scripts, fonts, pictures or addresses of elsewhere. The
curves of `line_chart` are drawn as SVG.

In: titles, texts, tables, figures. Out: the bytes of a page; the same for the same input.

    page = Page("Scores", ["Trees help."], [Section("Table", (Table("…", header, rows),))])
    path.write_text(html_page(page), encoding="utf-8")
"""
