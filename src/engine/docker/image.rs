//! Images of the daemon.

use std::collections::{BTreeMap, HashMap};

use bollard::query_parameters::ListImagesOptionsBuilder;

use super::Docker;
use super::call::{CALL_PATIENCE, is_missing, within};
use crate::engine::EngineError;

/// An image that the daemon has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Of its content: the same id, the same files.
    pub id: String,
    /// As it was asked for.
    pub name: String,
    /// Its own variables, which a sandbox does not get by itself.
    pub env: BTreeMap<String, String>,
    pub size_bytes: u64,
    pub architecture: String,
}

impl Docker {
    /// An image by name or id; `None` when the daemon does not have it. Nothing is fetched.
    pub async fn image(&self, name: &str) -> Result<Option<Image>, EngineError> {
        const DOING: &str = "looking for an image";
        let found = match within(CALL_PATIENCE, self.client.inspect_image(name)).await {
            Ok(Err(error)) if is_missing(&error) => return Ok(None),
            Ok(answer) => self.call(DOING, async { answer }).await?,
            Err(_) => self.call(DOING, self.client.inspect_image(name)).await?,
        };
        let config = found.config.unwrap_or_default();
        Ok(Some(Image {
            id: found.id.unwrap_or_default(),
            name: name.to_owned(),
            env: config
                .env
                .unwrap_or_default()
                .iter()
                .filter_map(|pair| pair.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            size_bytes: found.size.unwrap_or(0).try_into().unwrap_or(0),
            architecture: found.architecture.unwrap_or_default(),
        }))
    }

    /// The names of the base images that the daemon has, with their tags, in order.
    pub async fn base_images(&self) -> Result<Vec<String>, EngineError> {
        let ours = HashMap::from([("reference", vec!["infradev/base"])]);
        let options = ListImagesOptionsBuilder::new().filters(&ours).build();
        let listed = self
            .call("listing images", self.client.list_images(Some(options)))
            .await?;
        let mut names: Vec<String> = listed
            .into_iter()
            .flat_map(|image| image.repo_tags)
            // podman names its own registry
            .filter_map(|name| {
                name.split_at_checked(name.find("infradev/base:")?)
                    .map(|(_, own)| own.to_owned())
            })
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }
}
