//! Where the mentions of a text are.

use super::judge::Located;
use super::scope::ScopedCue;
use super::values::MentionKind;

/// The numbers of mentions in the order of a token.
pub(super) struct Order {
    keys: Vec<usize>,
    indices: Vec<usize>,
}

impl Order {
    pub fn new(mentions: &[Located], key: impl Fn(&Located) -> usize) -> Self {
        let mut indices: Vec<usize> = (0..mentions.len()).collect();
        indices.sort_by_key(|index| key(&mentions[*index]));
        let keys = indices.iter().map(|index| key(&mentions[*index])).collect();
        Self { keys, indices }
    }

    /// The mentions whose token is in a range.
    pub fn between(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let start = self.keys.partition_point(|key| *key < from);
        let end = self.keys.partition_point(|key| *key < to).max(start);
        self.indices[start..end].iter().copied()
    }
}

/// Where the mentions of each kind start and end: sorted tokens.
#[derive(Default)]
pub(super) struct Borders {
    firsts: [Vec<usize>; MentionKind::COUNT],
    ends: [Vec<usize>; MentionKind::COUNT],
}

impl Borders {
    pub fn new(mentions: &[Located]) -> Self {
        let mut borders = Self::default();
        for mention in mentions.iter().filter(|mention| !mention.pieces.is_empty()) {
            borders.firsts[mention.kind as usize].push(mention.first());
            borders.ends[mention.kind as usize].push(mention.end());
        }
        for tokens in borders.firsts.iter_mut().chain(&mut borders.ends) {
            tokens.sort_unstable();
        }
        borders
    }

    /// Whether another mention of the same kind contains a cue or stands between it and a mention.
    pub fn separate(&self, cue: &ScopedCue, mention: &Located) -> bool {
        let kind = mention.kind as usize;
        let any = |tokens: &[usize], from: usize, to: usize| {
            let at = tokens.partition_point(|token| *token < from);
            tokens.get(at).is_some_and(|token| *token < to)
        };
        if cue.end <= mention.first() {
            any(&self.ends[kind], cue.first + 1, mention.first() + 1)
        } else {
            any(&self.firsts[kind], mention.end(), cue.end)
        }
    }
}
