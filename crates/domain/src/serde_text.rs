//! Helpers for serde attributes.

/// Implements what `#[serde(try_from = "String", into = "String")]` needs: `TryFrom<String>` by
/// `FromStr`, and the conversion to a `String` by `Display`.
macro_rules! serde_text {
    ($type:ident) => {
        impl TryFrom<String> for $type {
            type Error = <$type as std::str::FromStr>::Err;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
    };
}

pub(crate) use serde_text;

/// Returns true for a value that a record leaves out because it is the default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
