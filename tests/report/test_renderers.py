"""Every output format, by its bytes."""

import csv
import io
import json

from command import call
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import UnknownName
from cranfield.base.text import (
    Column,
    Table,
    cell_as_meant,
    facts_table,
    harmless_cell,
    plain_text,
    printed,
    table_of,
    with_best,
)
from cranfield.report.renderers.csv import render_csv
from cranfield.report.rendering import renderers
from cranfield.workflows.display import fitted

TABLE = table_of(
    ["run", Column("AP", kind="number"), "rows", "pooled"],
    [("bm25|a_b", 0.123456789, 1000, True), ("x & y", None, 2, False), ("\x1b[1mé\n", 1.0, 0, None)],
    caption="Scores_1",
    notes=["100% sure"],
)


def test_csv_carries_full_precision_and_nothing_for_people():
    text = renderers.get("csv")(TABLE)
    assert text == 'run,AP,rows,pooled\nbm25|a_b,0.123456789,1000,true\nx & y,,2,false\n"\x1b[1mé\n",1.0,0,\n'
    assert [row["AP"] for row in csv.DictReader(io.StringIO(text))] == ["0.123456789", "", "1.0"]


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''@x", "-run"]
TEXTS = ["a=1", "-", "-1", "+1.5", "-0.5e-3", "'quoted'", "", "'", "it's", "-12%"]


def test_text_that_a_spreadsheet_would_run_stands_behind_an_apostrophe():
    rows = [(text, -1, -0.5, None) for text in [*FORMULAS, *TEXTS]]
    table = table_of([Column("text"), "whole", "score", Column("none")], rows)
    cells = list(csv.reader(io.StringIO(render_csv(table), newline="")))[1:]
    assert [cell for cell, *_ in cells] == [*(f"'{text}" for text in FORMULAS), *TEXTS]
    assert {tuple(others) for _, *others in cells} == {("-1", "-0.5", "")}
    exact = list(csv.reader(io.StringIO(render_csv(table, raw=True), newline="")))[1:]
    assert [cell for cell, *_ in exact] == [*FORMULAS, *TEXTS]


@given(st.text("'=+-@\t\r1.ax"))
def test_what_was_made_harmless_can_be_read_as_it_was_meant(text):
    assert cell_as_meant(harmless_cell(text)) == text


def test_raw_may_stand_anywhere_on_the_line(tmp_path):
    (tmp_path / "run").write_text("1 Q0 d1 1 2.5 =1+1\n")
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    words = ["evaluate", "--qrels", "qrels", "run", "-m", "AP", "-f", "csv", "--no-verdict"]
    assert call(*words, folder=tmp_path).out.splitlines()[1].startswith("'=1+1,")
    for place in (0, 3, len(words)):
        exact = call(*words[:place], "--raw", *words[place:], folder=tmp_path).out
        assert exact.splitlines()[1].startswith("=1+1,")


def test_json_and_json_lines_carry_the_same_records():
    whole = json.loads(renderers.get("json")(TABLE))
    lines = [json.loads(line) for line in renderers.get("jsonl")(TABLE).splitlines()]
    assert whole == lines == TABLE.records()
    assert whole[0] == {"run": "bm25|a_b", "AP": 0.123456789, "rows": 1000, "pooled": True}


def test_markdown_escapes_what_would_break_the_table():
    assert renderers.get("markdown")(TABLE) == (
        "**Scores\\_1**\n\n"
        "| run | AP | rows | pooled |\n"
        "| --- | ---: | ---: | --- |\n"
        "| bm25\\|a\\_b | 0.1235 | 1,000 | yes |\n"
        "| x & y |  | 2 | no |\n"
        "| ␛\\[1mé␊ | 1.0000 | 0 |  |\n"
        "\n- 100% sure\n"
    )


def test_latex_is_booktabs_with_everything_escaped():
    assert renderers.get("latex")(TABLE) == (
        "% \\usepackage{booktabs}\n"
        "\\begin{table}\n\\centering\n\\caption{Scores\\_1}\n\\label{tab:scores-1}\n"
        "\\begin{tabular}{lrrl}\n\\toprule\n"
        "run & AP & rows & pooled \\\\\n\\midrule\n"
        "bm25\\textbar{}a\\_b & 0.1235 & 1,000 & yes \\\\\n"
        "x \\& y &  & 2 & no \\\\\n"
        "␛{[}1mé␊ & 1.0000 & 0 &  \\\\\n"
        "\\bottomrule\n\\end{tabular}\n\\\\[0.5ex] \\footnotesize 100\\% sure\n\\end{table}\n"
    )


def test_an_unknown_format_is_answered_with_the_nearest(kept: Kept):
    with kept.raises(UnknownName):
        renderers.get("cvs")


def test_a_column_is_numeric_when_all_its_values_are_numbers():
    table = table_of(["a", "b", "c"], [(1, True, None), (2.5, False, None)])
    assert [column.numeric for column in table.columns] == [True, False, False]


def test_values_are_rounded_only_when_they_are_printed():
    assert printed(0.123456, Column("x", digits=2)) == "0.12"
    assert facts_table({"a": 1}).records() == [{"fact": "a", "value": 1}]


def test_bold_cells_stand_out_on_paper_and_never_in_data():
    table = with_best(table_of(["run", "AP"], [("a", 0.12341), ("b", 0.1234), ("c", 0.1), ("d", float("nan"))]), [1])
    assert table.bold == {(0, 1), (1, 1)}
    assert "| a | **0.1234** |\n| b | **0.1234** |\n| c | 0.1000 |" in renderers.get("markdown")(table)
    assert "a & \\textbf{0.1234} \\\\\nb & \\textbf{0.1234} \\\\\nc & 0.1000 \\\\" in renderers.get("latex")(table)
    assert renderers.get("csv")(table).startswith("run,AP\na,0.12341\nb,0.1234\n")


def test_one_row_has_no_best():
    assert with_best(table_of(["run", "AP"], [("a", 0.5)]), [1]).bold == frozenset()


def wide_table(rows: int, columns: int) -> Table:
    names = [f"measure{number}" for number in range(columns)]
    table = table_of(["run", *names], [(f"run{row}", *(row + 0.5 for _ in names)) for row in range(rows)])
    return with_best(table, range(1, columns + 1))


def test_a_table_that_fits_stays_as_it_is():
    table = wide_table(5, 3)
    assert fitted(table, 35) == [table]
    assert len(fitted(table, 34)) == 2
    assert max(map(len, (plain_text(table) or "").splitlines())) == 35


def test_wide_tables_are_dealt_out_with_the_first_column_in_each():
    parts = fitted(wide_table(20, 12), 60)
    assert [[column.name for column in part.columns] for part in parts] == [
        ["run", "measure0", "measure1", "measure2", "measure3", "measure4"],
        ["run", "measure5", "measure6", "measure7", "measure8", "measure9"],
        ["run", "measure10", "measure11"],
    ]
    assert [row[0] for row in parts[2].rows] == [f"run{row}" for row in range(20)]
    assert all(part.bold == {(19, column) for column in range(1, len(part.columns))} for part in parts)


def test_a_row_that_begins_with_a_bracket_is_no_option_of_the_line_before_in_latex():
    table = table_of(["run"], [("[1] a",), ("<b>",)])
    assert "\n{[}1] a \\\\\n\\textless{}b\\textgreater{} \\\\\n" in renderers.get("latex")(table)


def test_a_row_that_begins_with_a_star_is_no_form_of_the_line_end_before_in_latex():
    assert "\\midrule\n{*}a \\\\\n{*}{*}b \\\\\n" in renderers.get("latex")(table_of(["run"], [("*a",), ("**b",)]))


def test_hyphens_and_quotes_of_a_name_stay_what_they_are_in_latex():
    table = table_of(["run"], [("bm25--k---b",), ("''a``",), ("a,,b ?`",)])
    assert "bm25-{}-k-{}-{}-b \\\\\n'{}'a`{}` \\\\\na,{},b ?{}` \\\\\n" in renderers.get("latex")(table)


def test_a_negative_number_has_a_minus_and_a_name_a_hyphen_in_latex():
    columns = ["run", Column("AP", kind="number"), Column("letters", kind="number")]
    table = table_of(columns, [("-1", -0.017, "-0.0170 a"), ("-", float("nan"), "-2/0/1")])
    text = renderers.get("latex")(table)
    assert "\n-1 & $-$0.0170 & $-$0.0170 a \\\\\n- & - & $-$2/0/1 \\\\\n" in text
    interval = table_of(["run", "interval"], [("a-1 to -2", "-0.304 to -0.121"), ("b", "0.1 to 0.2")])
    assert "a-1 to -2 & $-$0.304 to $-$0.121 \\\\\nb & 0.1 to 0.2 \\\\" in renderers.get("latex")(interval)
    assert "\\textbf{$-$0.0170}" in renderers.get("latex")(
        with_best(table_of(["run", "AP"], [("a", -0.017)] * 2), [1])
    )


def test_a_latex_table_without_caption_gets_one_of_its_numbers_so_that_its_label_has_a_number():
    text = renderers.get("latex")(table_of(["run", "nDCG@10", "P_5"], [("a", 0.1, 0.2)]))
    assert "\\caption{nDCG@10, P 5}\n\\label{tab:ndcg-10-p-5}\n\\begin{tabular}" in text
    assert "\\caption{run}\n\\label{tab:run}\n" in renderers.get("latex")(table_of(["run"], [("a",)]))
    long = table_of(["run"], [("a",)], caption="Runs that share a letter do not differ significantly")
    assert "\\label{tab:runs-that-share-a-letter-do-not-differ}\n" in renderers.get("latex")(long)
    many = renderers.get("latex")(table_of(["日本", *"abcdefg"], [("a", *[0.5] * 7)], caption="日本"))
    assert "\\caption{日本}\n\\label{tab:table}\n" in many
    assert "\\caption{a, b, c, d, e, f, \\ldots{}}\n" in renderers.get("latex")(
        table_of("xabcdefg", [("a", *[0.5] * 7)])
    )


def test_a_long_latex_table_goes_on_over_pages_with_its_head_on_each():
    rows = [(f"r{number}", 0.5) for number in range(41)]
    body = "".join(f"r{number} & 0.5000 \\\\\n" for number in range(41))
    head = "\\toprule\nrun & AP \\\\\n\\midrule\n"
    assert renderers.get("latex")(table_of(["run", "AP"], rows, caption="All", notes=["50% of them"])) == (
        "% \\usepackage{booktabs,longtable}\n\\begin{longtable}{lr}\n\\caption{All}\n\\label{tab:all} \\\\\n"
        f"{head}\\endfirsthead\n{head}\\endhead\n\\bottomrule\n\\endfoot\n{body}\\end{{longtable}}\n"
        "\\par\\noindent{\\footnotesize 50\\% of them\\par}\n"
    )
    assert "longtable" not in renderers.get("latex")(table_of(["run", "AP"], rows[:40]))


def test_a_name_is_neither_struck_through_nor_a_formula_in_markdown():
    assert renderers.get("markdown")(table_of(["run"], [("~s~ $m$",)])).endswith("| \\~s\\~ \\$m\\$ |\n")


def test_an_entity_stays_the_letters_it_is_made_of_in_markdown():
    assert renderers.get("markdown")(table_of(["title"], [("&lt;b&gt; R&D",)])).endswith("| \\&lt;b\\&gt; R&D |\n")


def test_what_rounds_to_zero_has_no_minus():
    column = Column("loss", digits=4)
    assert [printed(value, column) for value in (-0.00001, -0.0, 0.0, -0.0001)] == [
        *("0.0000", "0.0000", "0.0000", "-0.0001")
    ]


def test_json_has_null_for_what_is_infinite_or_no_number():
    table = table_of(["name", "value"], [("a", float("inf")), ("b", float("-inf")), ("c", float("nan")), ("d", 0.5)])
    found = [json.loads(line) for line in renderers.get("jsonl")(table).splitlines()]
    assert [row["value"] for row in found] == [None, None, None, 0.5]
    assert json.loads(renderers.get("json")(table)) == found
    assert json.loads(renderers.get("json")(facts_table({"effect": float("nan")}))) == {"effect": None}


def test_a_p_that_would_be_printed_as_0_is_below_what_can_be_printed():
    column = Column("p", kind="p")
    assert [printed(value, column) for value in (0.0, 1e-9, 0.00009, 0.0001, 0.05, 1.0)] == [
        "<0.0001", "<0.0001", "<0.0001", "0.0001", "0.0500", "1.0000"
    ]  # fmt: skip
    assert printed(1e-9, Column("difference", kind="number")) == "0.0000"


def test_what_stands_behind_the_numbers_is_dealt_out_with_them_so_that_no_number_is_cut():
    table = table_of(
        ["run", "AP", "group", "verdict"], [("a-name-of-thirty-letters-indeed", 0.25, "a", "PROVISIONAL")]
    )
    parts = fitted(table, 50)
    assert [[column.name for column in part.columns] for part in parts] == [
        ["run", "AP", "group"],
        ["run", "verdict"],
    ]
