//! From the description of a pipeline to the cells that measure it.

use tactus_model::cell::Cell;
use tactus_model::cost::{Operation, Partner, Way};
use tactus_model::experiment::{DEFAULTS, Experiment};
use tactus_model::probe::ProbeKind;
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;

use crate::description::{BadPipeline, Described, Pipeline, SETTINGS};
use crate::graph::{Graph, Link, Stage};

/// The longest pause before a sample. Caches and idle states change little after that, and each sample
/// takes a pause.
const PAUSE_MAX: Nanos = Nanos::from_millis(100);
/// The samples of a cell in a round, if they fit into the limits of its window. Many short rounds are
/// better than a few long ones: what other programs do in a round is the same for all cells, and for
/// the real pipeline after it.
const SAMPLES: u64 = 300;
const WINDOW: [Nanos; 2] = [Nanos::from_millis(300), Nanos::from_secs(2)];

impl Pipeline {
    /// Resolves the pipeline with these settings, which replace its own.
    ///
    /// # Errors
    /// A setting does not apply to pipelines, has several values, or contradicts another one.
    pub fn graph(&self, overrides: &Layer) -> Result<Graph, BadPipeline> {
        let resolving = Resolving::new(self, overrides)?;
        let mut cells = Vec::new();
        let mut number_of = |cell: Cell| match cells.iter().position(|known| *known == cell) {
            Some(known) => known,
            None => {
                cells.push(cell);
                cells.len() - 1
            }
        };
        let wake = number_of(resolving.wake()?);
        let mut stages = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let steps = stage.steps.iter().map(|step| Ok(number_of(resolving.step(step)?)));
            let steps = steps.collect::<Result<_, BadPipeline>>()?;
            let mut after = Vec::new();
            for from in &stage.after {
                let [ours, theirs] = [stage.process, self.stages[*from].process];
                let is_same_cpu = self.processes[ours].cpu == self.processes[theirs].cpu;
                if ours == theirs {
                    after.push(Link { from: *from, by: None, after_work: None });
                    continue;
                }
                let mut measured = |way| {
                    let cell = resolving.hand_over(&stage.by, is_same_cpu, way)?;
                    Ok::<_, BadPipeline>(Some(number_of(cell)))
                };
                let by = measured(Way::OneWay)?;
                // On its own CPU, the earlier stage is at work until it hands over.
                let after_work = match !is_same_cpu && self.works_before(number) {
                    true => measured(Way::Back)?,
                    false => None,
                };
                after.push(Link { from: *from, by, after_work });
            }
            let (name, process) = (stage.name.clone(), stage.process);
            stages.push(Stage { name, process, after, steps });
        }
        Ok(Graph {
            name: self.name.clone(),
            about: self.about.clone(),
            period: self.period,
            budget: self.budget,
            processes: self.processes.clone(),
            stages,
            cells,
            wake,
        })
    }

    /// Whether an earlier stage of a frame has the CPU of a stage.
    fn works_before(&self, number: usize) -> bool {
        let cpu = |stage: &Described| self.processes[stage.process].cpu;
        self.stages[..number].iter().any(|stage| cpu(stage) == cpu(&self.stages[number]))
    }
}

/// From operations to the cells that measure them as a stage experiences them.
struct Resolving {
    base: Layer,
}

impl Resolving {
    fn new(pipeline: &Pipeline, overrides: &Layer) -> Result<Self, BadPipeline> {
        for setting in tactus_model::settings::SETTINGS {
            let Some(values) = overrides.values(setting.name) else { continue };
            if !SETTINGS.contains(&setting.name) {
                return Err(BadPipeline::Setting(setting.name.to_owned()));
            }
            if values.len() != 1 {
                return Err(BadPipeline::Several(setting.name.to_owned()));
            }
        }
        let own = pipeline.settings.overridden_by(overrides);
        let is_idle = own.values("load").is_none_or(|load| load == ["idle"]);
        let pause = pipeline.period.min(PAUSE_MAX);
        let window = pause.saturating_mul(SAMPLES);
        let window = window.clamp(WINDOW[0], WINDOW[1]);
        let fixed = [
            ("traced", "0s".to_owned()),
            ("warmup", if is_idle { "0s" } else { "500ms" }.to_owned()),
            ("duration", window.to_string()),
            ("interval", pause.to_string()),
            ("pause", pause.to_string()),
        ];
        Ok(Self { base: usual().overridden_by(&layer_of(fixed)).overridden_by(&own) })
    }

    fn cell(&self, own: &Layer, kind: ProbeKind) -> Result<Cell, BadPipeline> {
        let kind = layer_of([("probe", kind.to_string())]);
        let layer = self.base.overridden_by(&kind).overridden_by(own);
        let cell = layer.cells().into_iter().next().expect("each setting has a value");
        cell.check()?;
        Ok(cell)
    }

    /// How late a sleeping process wakes.
    fn wake(&self) -> Result<Cell, BadPipeline> {
        self.cell(&Layer::default(), ProbeKind::Timer)
    }

    fn step(&self, step: &Layer) -> Result<Cell, BadPipeline> {
        self.cell(step, ProbeKind::Cost)
    }

    /// A hand-over to another process: one way, or its answer.
    fn hand_over(&self, by: &Layer, is_same_cpu: bool, way: Way) -> Result<Cell, BadPipeline> {
        let place = if is_same_cpu { "same" } else { "other" };
        let (partner, way) = (Partner::Process.word(), way.word());
        let fixed = [("partner", partner), ("partner-cpu", place), ("way", way), ("times", "1")];
        let fixed = layer_of(fixed.map(|(name, value)| (name, value.to_owned())));
        self.cell(&by.overridden_by(&fixed), ProbeKind::Cost)
    }
}

/// The usual value of every setting.
fn usual() -> Layer {
    let defaults = Experiment::parse(DEFAULTS).expect("the embedded defaults are valid");
    defaults.settings().clone()
}

/// Settings whose names and values are known to be right.
fn layer_of<const N: usize>(values: [(&str, String); N]) -> Layer {
    let mut layer = Layer::default();
    for (name, value) in values {
        layer.set(name, vec![value]).expect("the setting exists and takes this value");
    }
    layer
}

pub(crate) fn operation_layer(operation: Operation) -> Layer {
    layer_of([("operation", operation.to_string())])
}
