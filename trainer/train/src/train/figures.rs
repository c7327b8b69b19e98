//! The plots of a run, from its `metrics.jsonl`: loss, gradient norm (PEL, figure 3), and on the
//! validation split recall and the precision-recall curve of NIL (PEL, figure 2).

use super::log::{self, Event};
use crate::plots::{Chart, Series, smoothed};
use pel_kb::error::Result;
use std::path::{Path, PathBuf};

/// Draws the plots of a run into its folder `plots/`; returns their paths without extensions.
///
/// # Errors
/// If the metrics cannot be read, or a file cannot be written.
pub fn draw(run: &Path) -> Result<Vec<PathBuf>> {
    let events = log::read(&run.join(super::METRICS))?;
    let mut charts = vec![("loss", loss(&events)), ("gradient-norm", norm(&events))];
    charts.extend(validation(&events).map(|chart| ("validation", chart)));
    charts.extend(last_nil_curve(&events).map(|chart| ("nil-curve", chart)));
    let folder = run.join("plots");
    charts
        .into_iter()
        .map(|(name, chart)| {
            let stem = folder.join(name);
            chart.write(&stem)?;
            Ok(stem)
        })
        .collect()
}

/// A value of events over steps.
fn steps(events: &[Event], value: impl Fn(&Event) -> Option<f64>) -> Vec<(f64, f64)> {
    events
        .iter()
        .filter_map(|event| Some((event.step() as f64, value(event)?)))
        .collect()
}

fn loss(events: &[Event]) -> Chart {
    let losses = steps(events, |event| {
        if let Event::Step { loss, .. } = event {
            Some(*loss)
        } else {
            None
        }
    });
    over_steps("Training loss", "loss", with_mean("loss of a step", losses))
}

fn norm(events: &[Event]) -> Chart {
    let norms = steps(events, |event| {
        if let Event::Step { gradient_norm, .. } = event {
            Some(*gradient_norm)
        } else {
            None
        }
    });
    over_steps(
        "Gradient norm before clipping",
        "l2 norm",
        with_mean("norm of a step", norms),
    )
}

/// The figures of the validations; `None` without any.
fn validation(events: &[Event]) -> Option<Chart> {
    let found = |value: fn(&super::Validated) -> Option<f64>| -> Vec<(f64, f64)> {
        steps(events, |event| {
            if let Event::Validation { found, .. } = event {
                value(found)
            } else {
                None
            }
        })
    };
    let series = |name: &str, points: Vec<(f64, f64)>| Series {
        name: name.into(),
        points,
    };
    let ranks = events.iter().any(
        |event| matches!(event, Event::Validation { found, .. } if found.recall_listed.is_some()),
    );
    let first = if ranks {
        ["accuracy", "zero-shot accuracy"]
    } else {
        ["recall@1", "zero-shot recall@1"]
    };
    let recall = [
        series(first[0], found(|found| found.recall_1)),
        series("normalised accuracy", found(super::Validated::normalised)),
        series("lists with the concept", found(|found| found.recall_listed)),
        series("recall@16", found(|found| found.recall_16)),
        series("recall@64", found(|found| found.recall_64)),
        series(first[1], found(|found| found.zero_shot_1)),
        series("zero-shot recall@64", found(|found| found.zero_shot_64)),
        series("NIL auPR", found(|found| found.nil_aupr)),
    ];
    let recall: Vec<Series> = recall
        .into_iter()
        .filter(|series| !series.points.is_empty())
        .collect();
    (!recall.is_empty()).then(|| Chart {
        y_range: Some((0.0, 1.0)),
        ..over_steps("On the validation split", "share", recall)
    })
}

/// The curve of NIL of the last validation; `None` without any.
fn last_nil_curve(events: &[Event]) -> Option<Chart> {
    let last = |event: &Event| match event {
        Event::Validation { found, .. } => Some(found.nil_curve.clone()),
        _ => None,
    };
    let points = events
        .iter()
        .rev()
        .find_map(last)
        .filter(|points| !points.is_empty())?;
    Some(nil_curve(vec![Series {
        name: "after the last step".into(),
        points,
    }]))
}

/// Precision over recall of NIL (PEL, figure 2).
pub fn nil_curve(series: Vec<Series>) -> Chart {
    let all = Some((0.0, 1.0));
    let (title, x, y) = (
        "Precision and recall of NIL".into(),
        "recall".into(),
        "precision".into(),
    );
    Chart {
        title,
        x,
        y,
        series,
        x_range: all,
        y_range: all,
        ..Chart::default()
    }
}

fn over_steps(title: &str, y: &str, series: Vec<Series>) -> Chart {
    Chart {
        title: title.into(),
        x: "step".into(),
        y: y.into(),
        series,
        ..Chart::default()
    }
}

/// A curve and its running mean over 1/50 of the run.
fn with_mean(name: &str, points: Vec<(f64, f64)>) -> Vec<Series> {
    let window = (points.len() / 50).max(1);
    let mean = smoothed(&points, window);
    let mut series = vec![Series {
        name: name.into(),
        points,
    }];
    if window > 1 {
        series.push(Series {
            name: format!("mean over {window} steps"),
            points: mean,
        });
    }
    series
}
