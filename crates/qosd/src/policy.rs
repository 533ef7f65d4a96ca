//! The policy file: how much of the machine may be reserved, and by whom.

use std::collections::BTreeMap;

use tactus_model::place::{Place, WrongAt};
use tactus_model::reserve::Capacity;
use tactus_model::text::UnknownWord;
use tactus_qos::IMPORTANCE_MOST;
use toml::de::{DeTable, DeValue};

/// Bytes of a policy file.
pub const POLICY_BYTES: u64 = 1 << 20;

/// Rules of a policy file.
pub const RULES_MOST: usize = 1000;

/// The shipped policy file: every setting with its usual value, and comments.
pub const SHIPPED: &str = include_str!("../../../packaging/qosd.toml");

/// What may be reserved, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The share of all CPUs that may be reserved, in per cent, within what the kernel admits.
    pub share: u8,
    /// The reserve of the manager itself; `None` to run it without one.
    pub own: Option<Capacity>,
    /// What users have without a rule.
    usual: Caps,
    rules: Vec<Rule>,
}

/// What one user may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The share of what may be reserved, in per cent.
    pub share: u8,
    /// The number of reserves.
    pub reserves: u16,
    /// The number of connections.
    pub connections: u16,
    /// The highest importance.
    pub importance: u8,
    /// Requests a second that change reserves; more wait.
    pub changes: u16,
}

/// The caps of a user, or of each user in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    whose: Whose,
    caps: Caps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    User(u32),
    Group(u32),
}

/// The IDs of names: what /etc/passwd and /etc/group say.
#[derive(Clone, Debug, Default)]
pub struct Names {
    users: BTreeMap<String, u32>,
    groups: BTreeMap<String, u32>,
}

impl Names {
    /// Reads the texts of passwd(5) and group(5).
    pub fn parse(passwd: &str, group: &str) -> Self {
        Self { users: ids(passwd), groups: ids(group) }
    }
}

/// The names and IDs of a file whose lines are `NAME:x:ID:…`.
fn ids(text: &str) -> BTreeMap<String, u32> {
    let entries = text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        Some((name.to_owned(), id.parse().ok()?))
    });
    entries.collect()
}

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPolicy {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key or a value is wrong.
    #[error(transparent)]
    At(#[from] WrongAt),
}

const KEYS: [&str; 3] = ["machine", "usual", "rule"];
const MACHINE_KEYS: [&str; 2] = ["share", "own"];
const CAP_KEYS: [&str; 5] = ["share", "reserves", "connections", "importance", "changes"];
const RULE_KEYS: [&str; 7] =
    ["user", "group", "share", "reserves", "connections", "importance", "changes"];

impl Default for Policy {
    fn default() -> Self {
        Self {
            share: 75,
            own: "1ms/10ms".parse().ok(),
            usual: Caps { share: 40, reserves: 32, connections: 64, importance: 50, changes: 50 },
            rules: vec![Rule { whose: Whose::User(0), caps: Caps::ROOT }],
        }
    }
}

impl Caps {
    /// The caps of root: it can do everything without the manager too.
    const ROOT: Self = Self {
        share: 100,
        reserves: 1024,
        connections: 1024,
        importance: IMPORTANCE_MOST,
        changes: u16::MAX,
    };
}

impl Policy {
    /// Reads a policy. Unknown keys are rejected with the nearest known key.
    ///
    /// # Errors
    /// The text is not TOML, a value is wrong, or a user or a group is unknown.
    pub fn parse(text: &str, names: &Names) -> Result<Self, BadPolicy> {
        let document = DeTable::parse(text)
            .map_err(|error| BadPolicy::Syntax(error.to_string().trim_end().to_owned()))?;
        let mut policy = Self::default();
        // Rules are the usual caps but for what they change, so the usual caps come first.
        for (key, value) in document.get_ref() {
            let place = Place::new(text, key.span().start);
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "machine" => policy.machine(place, table(place, value)?)?,
                "usual" => {
                    for (key, value) in table(place, value)? {
                        let here = place.at(key.span().start);
                        policy.usual.set(here, key.get_ref(), value.get_ref(), &CAP_KEYS)?;
                    }
                }
                "rule" => {}
                unknown => return Err(unknown_key(place, unknown, &KEYS).into()),
            }
        }
        if let Some((key, value)) = document.get_ref().get_key_value("rule") {
            let place = Place::new(text, key.span().start);
            let mut rules = rules(place, value.get_ref(), policy.usual, names)?;
            rules.append(&mut policy.rules);
            policy.rules = rules;
        }
        Ok(policy)
    }

    fn machine(&mut self, place: Place<'_>, table: &DeTable<'_>) -> Result<(), WrongAt> {
        for (key, value) in table {
            let here = place.at(key.span().start);
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "share" => self.share = percent(here, value)?,
                "own" if here.string(value)? == "none" => self.own = None,
                "own" => self.own = Some(here.written(value)?),
                unknown => return Err(unknown_key(here, unknown, &MACHINE_KEYS)),
            }
        }
        Ok(())
    }

    /// The caps of a user: those of the first rule that names the user or one of the groups, or
    /// else the usual ones.
    pub fn caps(&self, user: u32, groups: &[u32]) -> Caps {
        let applies = |rule: &&Rule| match rule.whose {
            Whose::User(id) => id == user,
            Whose::Group(id) => groups.contains(&id),
        };
        self.rules.iter().find(applies).map_or(self.usual, |rule| rule.caps)
    }
}

impl Caps {
    fn set(
        &mut self,
        place: Place<'_>,
        key: &str,
        value: &DeValue<'_>,
        known: &[&str],
    ) -> Result<(), WrongAt> {
        match key {
            "share" => self.share = percent(place, value)?,
            "reserves" => self.reserves = whole(place, key, value, 1024)?,
            "connections" => self.connections = whole(place, key, value, 1024)?,
            "importance" => {
                self.importance = whole(place, key, value, IMPORTANCE_MOST.into())? as u8;
            }
            "changes" => self.changes = whole(place, key, value, u16::MAX)?,
            unknown => return Err(unknown_key(place, unknown, known)),
        }
        Ok(())
    }
}

fn rules(
    place: Place<'_>,
    value: &DeValue<'_>,
    usual: Caps,
    names: &Names,
) -> Result<Vec<Rule>, WrongAt> {
    let DeValue::Array(tables) = value else {
        return Err(place.error("each rule must be a table of its own: [[rule]]"));
    };
    if tables.len() > RULES_MOST {
        return Err(
            place.error(format!("there are {} rules; the limit is {RULES_MOST}", tables.len()))
        );
    }
    let rule = |entry: &toml::Spanned<DeValue<'_>>| {
        let place = place.at(entry.span().start);
        rule(place, table(place, entry.get_ref())?, usual, names)
    };
    tables.iter().map(rule).collect()
}

fn rule(
    place: Place<'_>,
    table: &DeTable<'_>,
    mut caps: Caps,
    names: &Names,
) -> Result<Rule, WrongAt> {
    let mut whose = Vec::new();
    for (key, value) in table {
        let here = place.at(key.span().start);
        let value = value.get_ref();
        match key.get_ref().as_ref() {
            "user" => whose.push(Whose::User(id(here, value, "user", &names.users)?)),
            "group" => whose.push(Whose::Group(id(here, value, "group", &names.groups)?)),
            key => caps.set(here, key, value, &RULE_KEYS)?,
        }
    }
    match whose[..] {
        [whose] => Ok(Rule { whose, caps }),
        _ => Err(place.error(
            "a rule is for one user or one group: write user = \"NAME\" or group = \"NAME\"",
        )),
    }
}

/// The ID of a name, or a number.
fn id(
    place: Place<'_>,
    value: &DeValue<'_>,
    what: &'static str,
    known: &BTreeMap<String, u32>,
) -> Result<u32, WrongAt> {
    if let Ok(number) = place.number(value) {
        return Ok(number);
    }
    let name = place.string(value)?;
    known.get(&name).copied().ok_or_else(|| {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        place.error(match tactus_model::text::nearest(&name, &names) {
            Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
            None => format!("there is no {what} `{name}`; write a name of this machine, or an ID"),
        })
    })
}

fn table<'v, 't>(place: Place<'_>, value: &'v DeValue<'t>) -> Result<&'v DeTable<'t>, WrongAt> {
    match value {
        DeValue::Table(table) => Ok(table),
        _ => {
            Err(place
                .error("this must be a table: write its name in brackets on a line of its own"))
        }
    }
}

fn unknown_key(place: Place<'_>, key: &str, known: &[&str]) -> WrongAt {
    place.error(UnknownWord::new("key", key, known).to_string())
}

/// A percentage from 1 to 100, as `"75%"`.
fn percent(place: Place<'_>, value: &DeValue<'_>) -> Result<u8, WrongAt> {
    let text = place.string(value)?;
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
    number.filter(|number| (1..=100).contains(number)).ok_or_else(|| {
        let given = tactus_model::format::quoted(&text);
        place.error(format!("`{given}` is not a share; write \"1%\" to \"100%\""))
    })
}

/// A whole number from 1.
fn whole(place: Place<'_>, key: &str, value: &DeValue<'_>, most: u16) -> Result<u16, WrongAt> {
    let number = place.number::<u64>(value)?;
    let found = u16::try_from(number).ok().filter(|number| (1..=most).contains(number));
    found.ok_or_else(|| place.error(format!("{key} = {number} is out of range; write 1 to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names::parse("root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:\n", "audio:x:29:alice\n")
    }

    #[test]
    fn the_shipped_policy_has_the_usual_values() {
        assert_eq!(Policy::parse(SHIPPED, &names()), Ok(Policy::default()));
        // Its examples are valid too.
        let enabled: String = SHIPPED
            .lines()
            .map(|line| line.strip_prefix("#= ").unwrap_or(line).to_owned() + "\n")
            .collect();
        assert_ne!(Policy::parse(&enabled, &names()), Ok(Policy::default()));
    }

    #[test]
    fn the_first_rule_that_names_the_user_decides() {
        let text = "[usual]\nshare = \"10%\"\n\
            [[rule]]\nuser = \"alice\"\nshare = \"20%\"\n\
            [[rule]]\ngroup = \"audio\"\nshare = \"30%\"\n";
        let policy = Policy::parse(text, &names()).unwrap();
        let share = |user, groups: &[u32]| policy.caps(user, groups).share;
        assert_eq!(share(1000, &[29]), 20);
        assert_eq!(share(1001, &[29]), 30);
        assert_eq!(share(1001, &[]), 10);
        assert_eq!(share(0, &[]), 100);
    }

    #[test]
    fn a_wrong_policy_is_answered_with_place_and_nearest_value() {
        let check = |text: &str, expected: &str| {
            let error = Policy::parse(text, &names()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("[machin]", "line 1: unknown key `machin` (did you mean `machine`?)");
        check("[machine]\nshare = \"175%\"", "line 2: `175%` is not a share");
        check("[machine]\nown = \"3ms\"", "line 2: `3ms` is not a capacity");
        check("[usual]\nreserve = 3", "unknown key `reserve` (did you mean `reserves`?)");
        check("[usual]\nimportance = 101", "write 1 to 100");
        check("[[rule]]\nuser = \"alise\"", "there is no user `alise`; did you mean `alice`?");
        check("[[rule]]\nshare = \"3%\"", "a rule is for one user or one group");
        check("rule = 3", "each rule must be a table of its own");
        check("machine = 3", "this must be a table");
    }
}
