//! Conversions that serde's `try_from` and `into` need to store a value as text.

/// Implements `TryFrom<String>` by `FromStr`, and the conversion to a `String` by `Display`.
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
