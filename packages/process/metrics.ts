import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  Registry,
} from 'prom-client';

/** Every label with all values it can have: nothing that a message carries can make a new time series. */
export type LabelValues = Readonly<Record<string, readonly string[]>>;
export type Labels<L extends LabelValues> = { readonly [Name in keyof L]: L[Name][number] };

export interface Count<L extends LabelValues> {
  add(labels: Labels<L>, by?: number): void;
}

/** A count by labels of which few sets occur in one process. */
export interface Occurrences<Name extends string> {
  add(labels: Readonly<Record<Name, string>>, by?: number): void;
}

export interface Distribution<L extends LabelValues> {
  observe(labels: Labels<L>, value: number): void;
}

/** A value per set of labels, read when somebody asks. */
export type Reading = readonly [labels: Readonly<Record<string, string>>, value: number];
export type Read = () => Iterable<Reading>;

/**
 * Names are given without the prefix, which those of `OF_EVERY_PROCESS` do not get, in base units, and counts with `_total`. Asking for the same name again gives the
 * same metric, so that several consumers of a process share theirs.
 */
export interface Metrics {
  count<const L extends LabelValues>(name: `${string}_total`, help: string, labels: L): Count<L>;
  /**
   * The same for what is not there before it occurs: of many sets of labels few do. The values of `labelNames` must be
   * bounded by nature.
   */
  occurrences<const Name extends string>(
    name: `${string}_total`,
    help: string,
    labelNames: readonly Name[],
  ): Occurrences<Name>;
  distribution<const L extends LabelValues>(name: string, help: string, labels: L): Distribution<L>;
  /** For values that are known somewhere already, such as a lag. `labelNames` must be bounded by nature. */
  gauge(name: string, help: string, labelNames: readonly string[], read: Read): void;
  /** The same for what only grows while the process lives. */
  total(name: `${string}_total`, help: string, labelNames: readonly string[], read: Read): void;
  /** The Prometheus text format, and its content type. */
  text(): Promise<string>;
  readonly contentType: string;
}

const PREFIX = 'fleetgc_';
/** What clients of Prometheus name the same in every program, so that dashboards and alerts for all programs find it. */
const OF_EVERY_PROCESS = 'process_';
/** Seconds: from a millisecond of computing to a minute of waiting. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const base = (name: string, help: string, labelNames: readonly string[]) => ({
    name: name.startsWith(OF_EVERY_PROCESS) ? name : `${PREFIX}${name}`,
    help,
    labelNames: [...labelNames],
    registers: [registry],
  });
  const counters = createdOnce<Counter>();
  const histograms = createdOnce<Histogram>();
  const gauges = createdOnce<Read[]>();
  const totals = createdOnce<Read[]>();
  return {
    count: (name, help, labels) => {
      const counter = counters(name, () => new Counter(base(name, help, Object.keys(labels))));
      for (const each of everyCombination(labels)) counter.inc(each, 0);
      return { add: (given, by = 1) => counter.inc({ ...given }, by) };
    },
    occurrences: (name, help, labelNames) => {
      const counter = counters(name, () => new Counter(base(name, help, labelNames)));
      return { add: (given, by = 1) => counter.inc({ ...given }, by) };
    },
    distribution: (name, help, labels) => {
      const settings = { ...base(name, help, Object.keys(labels)), buckets: BUCKETS_SECONDS };
      const histogram = histograms(name, () => new Histogram(settings));
      return { observe: (given, value) => histogram.observe({ ...given }, value) };
    },
    gauge: (name, help, labelNames, read) => {
      gauges(name, () => createGauge(base(name, help, labelNames))).push(read);
    },
    total: (name, help, labelNames, read) => {
      totals(name, () => createTotal(base(name, help, labelNames))).push(read);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** A gauge that asks its readers; returns the list of them. */
function createGauge(settings: GaugeConfiguration<string>): Read[] {
  const readers: Read[] = [];
  new Gauge({
    ...settings,
    collect() {
      this.reset();
      // One without labels is at zero then: an unknown value would look like zero.
      if (settings.labelNames?.length === 0) this.remove();
      for (const [labels, value] of readers.flatMap((read) => [...read()])) this.set({ ...labels }, value);
    },
  });
  return readers;
}

/** The same for a counter. */
function createTotal(settings: CounterConfiguration<string>): Read[] {
  const readers: Read[] = [];
  new Counter({
    ...settings,
    collect() {
      this.reset();
      for (const [labels, value] of readers.flatMap((read) => [...read()])) this.inc({ ...labels }, value);
    },
  });
  return readers;
}

function createdOnce<T>(): (name: string, create: () => T) => T {
  const created = new Map<string, T>();
  return (name, create) => {
    const metric = created.get(name) ?? create();
    created.set(name, metric);
    return metric;
  };
}

/** All sets of labels, so that a count is there at zero before the first time. */
function everyCombination(labels: LabelValues): readonly Readonly<Record<string, string>>[] {
  return Object.entries(labels).reduce<readonly Readonly<Record<string, string>>[]>(
    (sets, [name, values]) => sets.flatMap((set) => values.map((value) => ({ ...set, [name]: value }))),
    [{}],
  );
}

export interface Build {
  /** The verb. */
  readonly service: string;
  readonly version: string;
}

/**
 * What runs and what it costs. Not prom-client's own set, which wakes the process a hundred times a second to measure
 * the event loop: too much where one runs on every machine.
 */
export function addProcessMetrics(metrics: Metrics, { service, version }: Build): void {
  metrics.gauge('build_info', 'Always 1; says what runs.', ['service', 'version', 'node_version'], () => [
    [{ service, version, node_version: process.version }, 1],
  ]);
  metrics.gauge('process_start_time_seconds', 'Start of the process, Unix time.', [], () => [
    [{}, Date.now() / 1000 - process.uptime()],
  ]);
  metrics.total('process_cpu_seconds_total', 'User and system CPU time spent.', [], () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1e6]];
  });
  metrics.gauge('process_resident_memory_bytes', 'Resident memory.', [], () => [
    [{}, process.memoryUsage.rss()],
  ]);
}
