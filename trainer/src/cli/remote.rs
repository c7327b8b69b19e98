//! `pel experiment --resume-on`: the same call on another machine, by the programs rsync and ssh.
//!
//! ```text
//! inputs, OUT ──rsync──> HOST:FOLDER ──ssh──> pel experiment ... ──rsync──> OUT
//! ```
//!
//! `pel` itself opens no connection. Host names, users, ports and keys are those of ssh's own
//! configuration.

use pel_shared::error::{Error, Result};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    host: String,
    folder: String,
    program: String,
}

impl Remote {
    /// Reads `HOST` or `HOST:FOLDER`. The default folder is `pel-experiments/NAME`, with the name
    /// of the output folder, in the user's home there.
    ///
    /// # Errors
    /// If the host could be read as an option of ssh, or a shell there could read the folder as
    /// anything but a path.
    pub fn new(given: &str, program: &str, out: &Path) -> Result<Self> {
        let (host, folder) = match given.split_once(':') {
            Some((host, folder)) => (host, folder.to_owned()),
            None => {
                let name = out.file_name().unwrap_or_default().to_string_lossy();
                (given, format!("pel-experiments/{name}"))
            }
        };
        let plain = |text: &str, more: &str| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || more.contains(letter);
            !text.is_empty() && !text.starts_with('-') && text.chars().all(fits)
        };
        if !plain(host, "@._-") {
            return Err(Error::usage(format!(
                "--resume-on: expected the name of a host as ssh knows it, found {host:?}"
            )));
        }
        if !plain(&folder, "/._-") {
            return Err(Error::usage(format!(
                "--resume-on: expected HOST:FOLDER with a folder of ASCII letters, digits, `/`, \
                 `.`, `_` and `-`, found the folder {folder:?}"
            )));
        }
        Ok(Self {
            host: host.into(),
            folder,
            program: program.into(),
        })
    }

    /// Copies the inputs and the output folder there, runs the command, and copies the output
    /// folder back, also if the command failed. `inputs` are paths by the names of their options.
    ///
    /// # Errors
    /// If an input is missing, or a program is missing or fails. The error names it.
    pub fn run(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
        inputs: &[(&'static str, &Path)],
        out: &Path,
    ) -> Result<()> {
        let whole = |(option, path): &(&'static str, &Path)| {
            let found = path.canonicalize().map_err(|cause| {
                let (host, path) = (&self.host, path.display());
                Error::usage(format!(
                    "--{option}: expected a file or folder to copy to {host}, found none at {path}"
                ))
                .caused_by(cause)
            });
            Ok((*option, found?))
        };
        let inputs = inputs.iter().map(whole).collect::<Result<Vec<_>>>()?;
        let command = self.command(arguments, &inputs)?;
        let folders = inputs.iter().map(|(option, _)| format!("inputs/{option}"));
        let folders = folders.chain(["out".into()]).collect::<Vec<_>>().join(" ");
        self.ssh(
            &format!("mkdir -p {0} && cd {0} && mkdir -p {folders}", self.folder),
            false,
        )?;
        for (option, path) in &inputs {
            let to = format!("{}/inputs/{option}/", self.folder);
            // A link is copied as what it leads to.
            self.rsync(&["-a", "--copy-links"], &local(path), &self.there(&to))?;
        }
        let there = self.there(&format!("{}/out/", self.folder));
        let back = format!("{}/", local(out));
        if out.is_dir() {
            self.rsync(&["-a"], &back, &there)?;
        }
        let done = self.ssh(&format!("cd {} && {command}", self.folder), true);
        std::fs::create_dir_all(out)
            .map_err(|cause| Error::usage(format!("making {}", out.display())).caused_by(cause))?;
        self.rsync(&["-a"], &there, &back)?;
        done
    }

    /// The command for the shell there.
    fn command(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
        inputs: &[(&'static str, PathBuf)],
    ) -> Result<String> {
        let mut words = vec![quoted(&self.program)];
        let mut left = arguments.into_iter();
        while let Some(argument) = left.next() {
            let word = text(argument)?;
            let (option, mut value) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value.into())),
                _ => (word.as_str(), None),
            };
            let mut value = || match value.take() {
                Some(value) => Ok(value),
                None => text(left.next().unwrap_or_default()),
            };
            let name = option.strip_prefix("--").unwrap_or_default();
            let of = inputs.iter().find(|(input, _)| *input == name);
            match (name, of) {
                ("resume-on" | "remote-pel", _) => drop(value()?),
                ("out", _) => {
                    value()?;
                    words.push("--out out".into());
                }
                (_, Some((_, path))) => {
                    value()?;
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    words.push(format!(
                        "--{name} {}",
                        quoted(&format!("inputs/{name}/{file}"))
                    ));
                }
                _ => words.push(quoted(&word)),
            }
        }
        Ok(words.join(" "))
    }

    fn there(&self, path: &str) -> String {
        format!("{}:{path}", self.host)
    }

    /// Runs a command there. A terminal is handed through, so that Ctrl-C stops the command there.
    fn ssh(&self, command: &str, interactive: bool) -> Result<()> {
        let mut ssh = Command::new("ssh");
        if interactive && std::io::stdin().is_terminal() {
            ssh.arg("-t");
        }
        ssh.args(["--", &self.host, command]);
        self.finish(ssh, "ssh")
    }

    fn rsync(&self, options: &[&str], from: &str, to: &str) -> Result<()> {
        let mut rsync = Command::new("rsync");
        rsync.args(options).args(["--", from, to]);
        self.finish(rsync, "rsync")
    }

    fn finish(&self, mut command: Command, name: &str) -> Result<()> {
        let ended = command.status().map_err(|cause| {
            Error::device(format!("--resume-on needs the program {name}")).caused_by(cause)
        })?;
        match ended.code() {
            Some(0) => Ok(()),
            // As the program there ends after Ctrl-C.
            Some(130) => Err(Error::interrupted()),
            code => Err(Error::device(format!(
                "{name} ended with {} for {}; repeat the command to go on",
                code.map_or_else(|| "a signal".into(), |code| format!("exit code {code}")),
                self.host
            ))),
        }
    }
}

/// A path that rsync cannot take for a host or an option, without a slash at its end.
fn local(path: &Path) -> String {
    let path = path.display().to_string();
    let path = path.trim_end_matches('/');
    match Path::new(path).is_absolute() {
        true => path.into(),
        false => format!("./{path}"),
    }
}

fn text(argument: OsString) -> Result<String> {
    argument.into_string().map_err(|found| {
        Error::usage(format!(
            "--resume-on: expected arguments in UTF-8, found {found:?}"
        ))
    })
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(given: &str) -> Result<Remote> {
        Remote::new(given, "pel", Path::new("a/tables"))
    }

    #[test]
    fn hosts_and_folders_that_a_shell_could_misread_are_refused() {
        let of = |given: &str| remote(given).map(|remote| (remote.host, remote.folder));
        let pair = |host: &str, folder: &str| (host.to_owned(), folder.to_owned());
        assert_eq!(
            of("me@gpu-1.lab").expect("a host"),
            pair("me@gpu-1.lab", "pel-experiments/tables")
        );
        assert_eq!(of("gpu:/data/x").expect("both"), pair("gpu", "/data/x"));
        for wrong in [
            "",
            "-oProxyCommand=x",
            "a b",
            "gpu:",
            "gpu:a;b",
            "gpu:-x",
            "gpu:a b",
            "$x",
        ] {
            let error = of(wrong).expect_err(wrong).to_string();
            assert!(error.starts_with("--resume-on: expected"), "{error}");
        }
    }

    #[test]
    fn arguments_are_quoted_and_paths_are_those_there() {
        let (kb, encoder) = ("in/my kb.jsonl".into(), "/models/Sap BERT/".into());
        let words = [
            "experiment",
            "--resume-on=gpu",
            "--kb",
            "in/my kb.jsonl",
            "--encoder=/models/Sap BERT/",
            "--set",
            "view.template=\"it's\"",
            "--set=fgsm.lambda=0",
            "--out",
            "a/tables",
            "--remote-pel",
            "bin/pel",
            "--table",
            "pel-3",
        ];
        let remote = Remote::new("gpu", "bin/pel", Path::new("a/tables")).expect("a host");
        let command = remote
            .command(
                words.map(OsString::from),
                &[("kb", kb), ("encoder", encoder)],
            )
            .expect("UTF-8");
        assert_eq!(
            command,
            "'bin/pel' 'experiment' --kb 'inputs/kb/my kb.jsonl' \
             --encoder 'inputs/encoder/Sap BERT' '--set' 'view.template=\"it'\\''s\"' \
             '--set=fgsm.lambda=0' --out out '--table' 'pel-3'"
        );
    }
}
