#!/usr/bin/env python3
"""Draws recurring revenue, churn and retention from the schema `report`.

notebook.py FIRST-MONTH LAST-MONTH FOLDER    such as: notebook.py 2025-01 2025-12 charts

Where the database is, libpq's own variables say (PGHOST, PGDATABASE, PGUSER, …); the login needs the
role subledger_analyst and nothing else. Needs psql, and from PyPI pandas and matplotlib.
"""

import io
import os
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import pandas

MONTH_DAYS = 365.25 / 12
PRODUCTION = "environment = 'Production'"


def table(sql):
    """The rows of a query."""
    said = subprocess.run(
        ["psql", "-X", "--csv", "-v", "ON_ERROR_STOP=1", "-c", sql], check=True,
        capture_output=True, text=True)
    # psql says first how it set its session, when it did; a table begins with its header.
    return pandas.read_csv(io.StringIO(said.stdout))


def months(first, last):
    return (f"generate_series(timestamptz '{first}-01Z', '{last}-01Z', interval '1 month') "
            "as month")


# %% Monthly recurring revenue, in each currency.
def mrr(first, last):
    days = table(
        f"select day, currency, value from report.mrr_daily('{first}-01', "
        f"(date '{last}-01' + interval '1 month - 1 day')::date) where {PRODUCTION}")
    days["day"] = pandas.to_datetime(days["day"])
    return days.pivot_table(index="day", columns="currency", values="value", aggfunc="sum") / 1000


# %% The part of those who paid when a month began that did not when it ended.
def churn(first, last):
    rates = table(
        f"select month::date as month, value from {months(first, last)} cross join lateral "
        f"report.churn_rate(month, month + interval '1 month') as churned where {PRODUCTION}")
    return rates.set_index("month")["value"].astype(float)


# %% Of those whose first paid month was one of these: how many paid for their k-th.
def retention(first, last):
    periods = table(
        "select original_transaction_id as line, purchased_at from report.period "
        f"where class = 'paid' and plan = 'P1M' and {PRODUCTION}")
    periods["purchased_at"] = pandas.to_datetime(periods["purchased_at"], utc=True, format="ISO8601")
    start = periods.groupby("line")["purchased_at"].transform("min")
    passed = (periods["purchased_at"] - start) / pandas.Timedelta(days=1)
    periods["number"] = 1 + (passed / MONTH_DAYS).round().astype(int)
    periods["cohort"] = start.dt.strftime("%Y-%m")
    chosen = periods[(periods["cohort"] >= first) & (periods["cohort"] <= last)]
    lines = chosen.groupby(["cohort", "number"])["line"].nunique().unstack()
    return lines.div(lines[1], axis="index")


def draw(frame, title, path, **options):
    axes = frame.plot(title=title, figsize=(10, 5), **options)
    axes.figure.savefig(path)
    matplotlib.pyplot.close(axes.figure)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    first, last, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, frame, title, options in (
            ("mrr", mrr(first, last), "Monthly recurring revenue", {}),
            ("churn", churn(first, last), "Churn by month", {"kind": "bar"}),
            ("retention", retention(first, last).T, "Retention by paid month", {"marker": "o"})):
        if frame.empty:
            print(f"{name}: nothing to draw", file=sys.stderr)
            continue
        draw(frame, title, os.path.join(folder, name + ".png"), **options)
        frame.to_csv(os.path.join(folder, name + ".csv"))
        print(f"{title}\n{frame.tail(12).to_string()}\n")


if __name__ == "__main__":
    main()
