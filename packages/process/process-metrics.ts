import type { Metrics } from './metrics.ts';

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
