//! Values that several runs, parts or figures share.

use std::collections::HashSet;
use std::fmt::Display;

/// Groups keys by value, in order of first appearance.
pub(crate) fn keys_by_value<K, V: PartialEq>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Vec<(V, Vec<K>)> {
    let mut groups: Vec<(V, Vec<K>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(other, _)| *other == value) {
            Some((_, keys)) => keys.push(key),
            None => groups.push((value, vec![key])),
        }
    }
    groups
}

/// Returns the items without those that repeat an earlier one.
pub(crate) fn unique_by<T>(
    items: impl IntoIterator<Item = T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut unique: Vec<T> = Vec::new();
    for item in items {
        if !unique.iter().any(|other| is_same(other, &item)) {
            unique.push(item);
        }
    }
    unique
}

/// Returns names in their order, each once.
pub(crate) fn distinct_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen: HashSet<&str> = HashSet::new();
    names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// Returns the items with a comma and a space between them.
pub(crate) fn comma_separated<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
