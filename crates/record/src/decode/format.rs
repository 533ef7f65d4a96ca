//! The kernel's description of a tracepoint's record: its `format` file.

/// Where the fields of a tracepoint lie in its records.
///
/// ```
/// use tactus_record::decode::Format;
///
/// let format: Format = "name: softirq_entry\nID: 223\nformat:\n\
///     \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
///     \tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n"
///     .parse()
///     .unwrap();
/// assert_eq!(format.id, 223);
/// assert_eq!(format.field("vec").unwrap().offset, 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The number of the tracepoint, valid until the next boot.
    pub id: u32,
    fields: Vec<(String, Field)>,
}

/// The position and the type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The offset in bytes from the start of the record.
    pub offset: u16,
    /// Its length in bytes.
    pub size: u16,
    /// Whether it is a signed number.
    pub signed: bool,
    /// The place of the value.
    pub place: Place,
}

/// The place of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the field itself.
    Here,
    /// Elsewhere in the record: the field holds the offset and the length
    /// (`__data_loc`).
    Elsewhere,
    /// The same, with the offset from the end of the field (`__rel_loc`).
    After,
}

/// Why a text is not a valid format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFormat {
    /// The number is missing.
    #[error("the tracepoint's format has no line `ID:` with a number")]
    NoId,
    /// A field has an unknown syntax.
    #[error("the tracepoint's format has an invalid field: `{0}`")]
    Field(String),
}

impl Format {
    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|&(_, field)| field)
    }
}

impl std::str::FromStr for Format {
    type Err = BadFormat;

    fn from_str(text: &str) -> Result<Self, BadFormat> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID:"))
            .and_then(|id| id.trim().parse().ok())
            .ok_or(BadFormat::NoId)?;
        Ok(Self { id, fields: fields(text)? })
    }
}

/// The fields in lines such as `field:int irq; offset:8; size:4; signed:1;`.
pub(super) fn fields(text: &str) -> Result<Vec<(String, Field)>, BadFormat> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("field:"))
        .map(|line| parse_field(line).ok_or_else(|| BadFormat::Field(line.to_owned())))
        .collect()
}

/// Reads a number of one to eight bytes; zero for fields with another size.
#[inline]
pub(crate) fn int(raw: &[u8], field: Field) -> i64 {
    let Some(bytes) = raw.get(usize::from(field.offset)..) else { return 0 };
    macro_rules! read {
        ($signed:ty, $unsigned:ty) => {
            match bytes.first_chunk() {
                Some(bytes) if field.signed => i64::from(<$signed>::from_ne_bytes(*bytes)),
                Some(bytes) => <$unsigned>::from_ne_bytes(*bytes) as i64,
                None => 0,
            }
        };
    }
    match field.size {
        1 => read!(i8, u8),
        2 => read!(i16, u16),
        4 => read!(i32, u32),
        8 => read!(i64, u64),
        _ => 0,
    }
}

/// Reads `char comm[16]; offset:8; size:16; signed:0;`, with tabs between.
fn parse_field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            Some(("signed", value)) => signed = Some(value != "0"),
            // Later kernels may add more.
            _ => {}
        }
    }
    let place = match declaration.split_whitespace().next()? {
        "__data_loc" => Place::Elsewhere,
        "__rel_loc" => Place::After,
        _ => Place::Here,
    };
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?.to_owned();
    Some((name, Field { offset: offset?, size: size?, signed: signed?, place }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(line: &str, name: &str, field: Field) {
        let format: Format = format!("ID: 1\nformat:\n\tfield:{line}\n").parse().unwrap();
        assert_eq!(format.field(name), Some(field), "{line}");
    }

    #[test]
    fn fields_are_read_as_kernels_write_them() {
        check(
            "char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;",
            "prev_comm",
            Field { offset: 8, size: 16, signed: false, place: Place::Here },
        );
        check(
            "void * hrtimer;\toffset:8;\tsize:8;\tsigned:0;",
            "hrtimer",
            Field { offset: 8, size: 8, signed: false, place: Place::Here },
        );
        check(
            "__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;",
            "name",
            Field { offset: 12, size: 4, signed: false, place: Place::Elsewhere },
        );
        check(
            "enum hrtimer_mode mode;\toffset:40;\tsize:4;\tsigned:0;",
            "mode",
            Field { offset: 40, size: 4, signed: false, place: Place::Here },
        );
    }

    #[test]
    fn a_description_without_a_number_is_refused() {
        assert_eq!("name: x\nformat:\n".parse::<Format>(), Err(BadFormat::NoId));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(ID: [0-9]{1,12}\n)?(field:[^\n]{0,60}\n){0,4}") {
            let _ = text.parse::<Format>();
        }
    }
}
