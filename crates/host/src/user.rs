//! The user that runs this program.

/// Returns the effective user ID.
pub(crate) fn effective_uid() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns true for root, who sees the processes and files of all users.
pub(crate) fn is_root() -> bool {
    effective_uid() == 0
}

/// Returns the end of a message about a denied permission. `otherwise` is the advice for other
/// users than root.
pub(crate) fn permission_advice(otherwise: &'static str) -> &'static str {
    if is_root() {
        "; root may not do this here: a container, a mount option or a security module forbids it"
    } else {
        otherwise
    }
}
