//! The source of the encoder for `pel index`: a Hugging Face folder, a model of `pel train`, or
//! another bundle.

use bytes::Bytes;
use pel_artifacts::bundles;
use pel_artifacts::models::{ModelSettings, TOWERS, TowerFiles, trained_concepts};
use pel_artifacts::pretrained::EXPECTED;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::{Manifest, Parts, names};
use std::path::Path;

const MENTION: [&str; 3] = [names::CONFIG, names::WEIGHTS, names::PROJECTION];
const ENTITY: [&str; 3] = [
    names::ENTITY_CONFIG,
    names::ENTITY_WEIGHTS,
    names::ENTITY_PROJECTION,
];

/// An encoder with its settings.
pub struct Source {
    /// The files, by their names in a bundle.
    pub files: Parts,
    /// Whether one tower reads mentions and entities.
    pub tied: bool,
    /// The settings of its training, if `pel train` wrote it.
    pub settings: Option<ModelSettings>,
    /// The manifest, if the source is a bundle.
    pub bundle: Option<Manifest>,
}

/// The files of a detector.
const DETECTOR: [&str; 2] = [names::DETECTOR_CONFIG, names::DETECTOR_WEIGHTS];

impl Source {
    /// Maps the files of an encoder, and those of an entity encoder if there is one.
    ///
    /// # Errors
    /// If a file is missing, or the bundle is damaged.
    pub fn read(encoder: &Path, entity_encoder: Option<&Path>) -> Result<Self> {
        if encoder.is_file() || encoder.join(names::MANIFEST).is_file() {
            return Self::of_bundle(encoder, entity_encoder);
        }
        let mut files = Parts::default();
        // A model of two encoders has a folder for each.
        let both = encoder.join(TOWERS[0]).is_dir();
        let mention = if both {
            encoder.join(TOWERS[0])
        } else {
            encoder.to_owned()
        };
        let entity = entity_encoder
            .map(Path::to_owned)
            .or_else(|| both.then(|| encoder.join(TOWERS[1])));
        let tokenizer = take(&mut files, &mention, MENTION)?;
        if let Some(entity) = &entity
            && take(&mut files, entity, ENTITY)? != tokenizer
        {
            let [entity, mention] = [entity, &mention].map(|folder| folder.display());
            return Err(Error::input(format!(
                "{entity}: its tokenizer differs from that of {mention}; choose two encoders that \
                 were trained together"
            )));
        }
        files.0.insert(names::TOKENIZER.into(), tokenizer);
        let settings = ModelSettings::read(encoder)?;
        if settings.is_some_and(|settings| settings.ranker) {
            let encoder = encoder.display();
            return Err(Error::input(format!(
                "{encoder}: this is a ranker, which scores pairs; give an encoder to `pel index`, \
                 and the ranker to `pel link --ranker`"
            )));
        }
        let mut trained = trained_concepts(encoder)?;
        if let Some(entity) = entity_encoder {
            let both = trained.zip(trained_concepts(entity)?);
            trained = both.map(|(mention, entity)| mention.joined(entity));
        }
        if let Some(trained) = trained {
            let trained = trained.to_bytes().into();
            files.0.insert(names::TRAINED.into(), trained);
        }
        Ok(Self {
            files,
            tied: entity.is_none(),
            settings,
            bundle: None,
        })
    }

    fn of_bundle(path: &Path, entity_encoder: Option<&Path>) -> Result<Self> {
        if entity_encoder.is_some() {
            return Err(Error::input("--entity-encoder: a bundle brings its own"));
        }
        let bundle = bundles::open(path)?;
        let wanted = |name: &str| {
            name == names::TOKENIZER
                || [MENTION, ENTITY].iter().any(|files| files.contains(&name))
                || DETECTOR.contains(&name)
                || name == names::TRAINED
        };
        let files = bundle.parts().0.iter().filter(|(name, _)| wanted(name));
        let files = Parts(
            files
                .map(|(name, bytes)| (name.clone(), bytes.clone()))
                .collect(),
        );
        let scorer = bundle.scorer();
        let manifest = bundle.manifest;
        let settings = ModelSettings {
            view: manifest.view,
            reduction: manifest.encoder.reduction,
            ranker: false,
            scorer,
        };
        Ok(Self {
            files,
            tied: manifest.encoder.tied,
            settings: Some(settings),
            bundle: Some(manifest),
        })
    }
}

/// Maps the files of a tower, under their names in a bundle. Returns its tokenizer.
fn take(
    parts: &mut Parts,
    folder: &Path,
    [config, weights, projection]: [&str; 3],
) -> Result<Bytes> {
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(Error::input(format!(
            "{folder}: expected a folder with {EXPECTED}, or a bundle"
        )));
    }
    let files = TowerFiles::read(folder)?;
    for (name, bytes) in [
        (config, Some(files.config)),
        (weights, Some(files.weights)),
        (projection, files.projection),
    ] {
        if let Some(bytes) = bytes {
            parts.0.insert(name.into(), bytes);
        }
    }
    Ok(files.tokenizer)
}
