import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from './container.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { builtCollector } from './toolchain/collector.ts';
import { waitUntil } from './wait-until.ts';

const READY_MS = 20_000;
const MAX_SAID = 20_000_000;

/** A span as the collector wrote it down. */
export interface CollectedSpan {
  readonly traceId: string;
  /** `''` where it has none. */
  readonly parentId: string;
  readonly id: string;
  readonly name: string;
  /** `Producer`, `Consumer` or `Internal`. */
  readonly kind: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Collector {
  readonly url: string;
  /** All that it got so far. */
  spans(): readonly CollectedSpan[];
}

/** OpenTelemetry's own, on loopback, which ends with the test. */
export async function startCollector(): Promise<Collector> {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const file = join(temporaryDirectory(), 'collector.yaml');
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { debug: { verbosity: 'detailed', sampling_initial: 1_000_000 } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
    },
  };
  writeFileSync(file, stringify(config));
  const program = join(await builtCollector(), 'collector');
  const child = spawn(program, [`--config=file:${file}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-MAX_SAID);
  });
  await waitUntil('the collector to be ready', READY_MS, () => said.includes('Everything is ready')).catch(
    (cause: unknown) => {
      throw new Error(`the collector does not start: ${said}`, { cause });
    },
  );
  return { url: `http://${endpoint}`, spans: () => spansIn(said) };
}

/** The form in which its debug exporter writes. */
function spansIn(said: string): readonly CollectedSpan[] {
  return said.split(/ResourceSpans #/).flatMap((ofProcess) => {
    const service = /service\.name: Str\((.*)\)/.exec(ofProcess)?.[1] ?? '';
    return ofProcess
      .split(/^Span #/m)
      .slice(1)
      .map((text) => ({
        traceId: fieldOf(text, 'Trace ID'),
        parentId: fieldOf(text, 'Parent ID'),
        id: fieldOf(text, 'ID'),
        name: fieldOf(text, 'Name'),
        kind: fieldOf(text, 'Kind'),
        service,
        attributes: Object.fromEntries(
          [...text.matchAll(/^ +-> ([a-z0-9_.]+): \w+\((.*)\)$/gm)].map(([, key = '', value = '']) => [
            key,
            value,
          ]),
        ),
      }));
  });
}

const fieldOf = (text: string, name: string): string =>
  new RegExp(`^ +${name} +: ?(.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
