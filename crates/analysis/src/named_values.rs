//! Values that a user chooses by name.

/// Defines an enum whose values have names, with `ALL`, `Display` and `FromStr` by them.
macro_rules! named_values {
    (
        $(#[$attribute:meta])*
        $name:ident { $( $(#[$of_value:meta])* $value:ident = $text:literal, )* }
    ) => {
        $(#[$attribute])*
        pub enum $name { $( $(#[$of_value])* $value, )* }

        impl $name {
            /// All values, in the order of their definition.
            pub const ALL: [$name; [$($text),*].len()] = [$($name::$value),*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $( $name::$value => $text, )* })
            }
        }

        impl std::str::FromStr for $name {
            type Err = steadfast_tracefile::error::TraceError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|value| value.to_string() == text);
                found.ok_or_else(|| {
                    let text = steadfast_domain::text::excerpt(text);
                    let names = [$($text),*].join(", ");
                    Self::Err::Unsuitable(format!("'{text}' is not one of: {names}"))
                })
            }
        }
    };
}

pub(crate) use named_values;
