//! Numbers as reports print them.

use steadfast_domain::findings::Cell;

/// What stands where nothing was measured.
pub(crate) const DASH: &str = "–";

/// `12,345.6`: thousands separated by commas.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    if value < 0.0 {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A number with as many decimals as it needs, for ticks and legends.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e12).contains(&size) {
        return format!("{value:e}");
    }
    let decimals = match size {
        v if v == 0.0 || v >= 100.0 || (v - v.round()).abs() < 1e-9 => 0,
        v if v >= 1.0 => 1,
        v if v >= 0.1 => 2,
        v if v >= 0.001 => 4,
        _ => 7,
    };
    trimmed(grouped(value, decimals))
}

/// A multiple of `step`, with as many decimals as tell it from the next one.
pub(crate) fn stepped(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0);
    if !(0.0..=9.0).contains(&decimals) || value.abs() >= 1e12 {
        return short(value);
    }
    // Zero may come out of the multiplication as a tiny number below it.
    let value = if value.abs() < step / 2.0 { 0.0 } else { value };
    trimmed(grouped(value, decimals as usize))
}

/// Without zeros behind the decimal point.
fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A cell as it prints.
pub(crate) fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Number { value, decimals, .. } if value.is_finite() => {
            grouped(*value, usize::from(*decimals))
        }
        Cell::Text(text) => text.clone(),
        Cell::Number { .. } | Cell::Missing => DASH.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(1234567.891, 1), "1,234,567.9");
        assert_eq!(grouped(-999.0, 0), "-999");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(1024.0), "1,024");
        assert_eq!(short(0.00005), "0.00005");
        assert_eq!(short(2e15), "2e15");
        assert_eq!(cell(&Cell::Missing), "–");
        assert_eq!(stepped(1.25, 0.05), "1.25");
        assert_eq!(stepped(12_345.0, 5.0), "12,345");
        assert_eq!(stepped(-1e-17, 0.2), "0");
    }
}
