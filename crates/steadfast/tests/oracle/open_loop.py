"""What an exact drive must show in a load curve, by the formulas of the M/D/1 queue.

Arrivals are Poisson, one server takes SERVICE for every I/O, and a transfer adds LINK after it.
The mean waiting time is rho / (2 mu (1 - rho)); its distribution is that of A. K. Erlang (1909):

    P(W <= t) = (1 - rho) sum_{k=0}^{floor(t mu)} (lambda (k/mu - t))^k / k! e^{-lambda (k/mu - t)}

Nothing here was taken over from the program under test.

    python3 open_loop.py RUN_DIR SERVICE_NS LINK_NS

Every difference is a line on standard error, and the exit code is 1.
"""

import json
import sys
from decimal import Decimal, getcontext
from pathlib import Path

# The terms of the sum alternate in sign and cancel.
getcontext().prec = 120


def waits_at_most(time_ns, rate, service_ns):
    """The share of I/Os that wait no longer, at `rate` I/Os per second."""
    rho = rate * service_ns / Decimal(10**9)
    per_service = rho
    sum_, factorial = Decimal(0), Decimal(1)
    for k in range(int(time_ns // service_ns) + 1):
        factorial *= max(k, 1)
        x = per_service * (k - Decimal(time_ns) / service_ns)
        sum_ += (x**k if k else Decimal(1)) / factorial * (-x).exp()
    return (1 - rho) * sum_


def highest_rate(fraction, limit_ns, service_ns, link_ns):
    """The rate at which `fraction` of the I/Os take `limit_ns`, by bisection."""
    wait = limit_ns - service_ns - link_ns
    low, high = Decimal(0), Decimal(10**9) / service_ns
    for _ in range(60):
        middle = (low + high) / 2
        if waits_at_most(wait, middle, Decimal(service_ns)) >= Decimal(fraction):
            low = middle
        else:
            high = middle
    return float(low)


def main():
    run, service, link = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    findings = json.loads((run / "findings.json").read_text())
    pages = findings["form_pages"] + findings["chapters"]
    tables = {e["table"]["id"]: e["table"] for p in pages for e in p["exhibits"] if "table" in e}
    figures = {f["id"]: f.get("value") for f in findings["front"]["figures"]}
    wrong = []

    def check(what, expected, found, below, above):
        if found is None or not -below <= found / expected - 1 <= above:
            wrong.append(f"{what}: {found}, by the formula {expected}")

    mu = 1e9 / service
    check("maximum", mu, figures["maximum-iops"], 0.001, 0.001)
    rates = tables["rates"]
    names = [column["id"] for column in rates["columns"]]
    power = {}
    for row in rates["rows"]:
        percent = float(row["id"])
        if percent > 90:
            continue
        cells = {name: cell.get("number", {}).get("value") if isinstance(cell, dict) else None
                 for name, cell in zip(names, row["cells"])}
        rho = percent / 100
        mean = rho / (2 * mu * (1 - rho)) * 1e3
        check(f"mean wait at {percent} %", mean, cells["ART ms"] - (service + link) / 1e6, 0.02, 0.02)
        power[percent] = rho / (mean + (service + link) / 1e6)
        # A percentile is the upper edge of a bucket of up to 0.78 %.
        for name, fraction in [("99 % ms", 0.99), ("99.9 % ms", 0.999)]:
            found = cells[name] * 1e6 - service - link
            beyond = float(1 - waits_at_most(Decimal(found), Decimal(rho * mu), Decimal(service)))
            check(f"{name} at {percent} %: I/Os beyond", 1 - fraction, beyond, 0.25, 0.25)
    knee = max(power, key=power.get)
    check("knee", knee / 100 * mu, figures["knee-iops"], 0.001, 0.001)
    slo = json.loads((run / "settings.json").read_text())["settings"]["slo"]
    percent, limit = slo[1:].split("=")
    if not limit.endswith("us"):
        sys.exit(f"{slo} is not in microseconds")
    exact = highest_rate(float(percent) / 100, int(limit[:-2]) * 1000, service, link)
    # The search ends 2 % below a rate that missed; percentiles are up to 0.78 % too long.
    check(f"highest rate for {slo}", exact, figures["slo-iops"], 0.03, 0.01)
    print(f"{slo}: {figures['slo-iops']:.0f} IOPS, by the formula {exact:.0f}")
    for difference in wrong:
        print(difference, file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
