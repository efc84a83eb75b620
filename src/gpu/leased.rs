//! Who has leased a GPU, as a part of its snapshot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reading;
use super::leases::{Holder, LeaseError, LeaseState, Leases};

/// A GPU's lease file as it was found. Any user of the node may write there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum GpuLease {
    Free,
    /// A living worker has it; what it wrote of itself may be unreadable.
    Held {
        run: Option<String>,
        user: Option<String>,
        pid: Option<u32>,
        host: Option<String>,
    },
    /// Its worker died without giving it back: the next one simply takes it.
    Stale {
        run: String,
        user: String,
    },
}

impl GpuLease {
    /// One look: a small file is opened, read and asked for its lock.
    pub(super) fn read(leases: &Leases, uuid: &str) -> Reading<Self> {
        match leases.state(uuid) {
            Ok(state) => Reading::Value(state.into()),
            Err(LeaseError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Reading::NoPermission
            }
            Err(_) => Reading::Unsupported,
        }
    }

    /// The run whose living worker has it.
    pub fn held_by(&self) -> Option<&str> {
        match self {
            GpuLease::Held { run, .. } => run.as_deref(),
            _ => None,
        }
    }
}

impl From<LeaseState> for GpuLease {
    fn from(state: LeaseState) -> Self {
        match state {
            LeaseState::Free => GpuLease::Free,
            LeaseState::Held(holder) => {
                let (run, user, pid, host) = match holder {
                    Some(Holder {
                        run,
                        pid,
                        user,
                        host,
                    }) => (Some(run), Some(user), Some(pid), Some(host)),
                    None => (None, None, None, None),
                };
                GpuLease::Held {
                    run,
                    user,
                    pid,
                    host,
                }
            }
            LeaseState::Stale(Holder { run, user, .. }) => GpuLease::Stale { run, user },
        }
    }
}
