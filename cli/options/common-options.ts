import { z } from 'zod';
import { ListenAddress, withMeta } from '../../packages/process/options/options.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import type { Sampling, TracingChoice } from '../../packages/tracing/port.ts';

/** Every verb has these; `defineVerb` adds them. */
export const loggingOptions = {
  logLevel: withMeta(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).prefault('info'),
    {
      description: 'Least severe messages to write to stderr.',
    },
  ),
};

/** For verbs that serve: health and metrics. Each verb has a port of its own, since agents share a node. */
export const httpOptions = (port: number) => ({ httpAddress: probing(`127.0.0.1:${port}`) });

/** The same for a verb whose `--http-address` is for people. */
export const probeOptions = { probeAddress: probing('none') };

function probing(usual: string) {
  const address = z.union([z.literal('none').transform(() => null), ListenAddress], {
    error: 'must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464, or none',
  });
  return withMeta(address.prefault(usual), {
    placeholder: 'HOST:PORT|none',
    description: 'Where to serve /livez, /readyz and /metrics.',
  });
}

/** For verbs that handle messages. */
export const tracingOptions = {
  otlpEndpoint: withMeta(
    z.url({ protocol: /^https?$/, error: 'must be a URL such as http://collector:4318' }).optional(),
    {
      placeholder: 'URL',
      description:
        'Collector that takes OpenTelemetry traces by OTLP over HTTP; without it OTEL_EXPORTER_OTLP_ENDPOINT says where, or there are none.',
    },
  ),
};

type Environment = OptionSources['environment'];

/** Where traces are sent (`null`: tracing is off), and which variables of OpenTelemetry are not supported. */
interface ReadTracing {
  readonly tracing: TracingChoice | null;
  readonly warnings: readonly string[];
}

/**
 * Variables of OpenTelemetry are often given to all containers of a cluster alike. So what FleetGC cannot do of them is a warning, and
 * never a reason not to start.
 */
export function readTracing(otlpEndpoint: string | undefined, environment: Environment): ReadTracing {
  const url = urlOf(otlpEndpoint, environment);
  if (url === null || isSwitchedOff(environment)) return NONE;
  const protocol = given(environment, 'TRACES_PROTOCOL', 'PROTOCOL');
  if (protocol !== undefined && protocol !== PROTOCOL)
    return without(
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${JSON.stringify(protocol)}, and FleetGC speaks ${PROTOCOL}`,
    );
  if (!URL.canParse(url) || !/^https?:/.test(url))
    return without(`OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL: ${JSON.stringify(url)}`);
  const sampling = samplingOf(environment);
  if (sampling === null)
    return without(
      `OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name no sampler: ${JSON.stringify(environment.OTEL_TRACES_SAMPLER)}`,
    );
  return { tracing: { url, sampling }, warnings: [] };
}

const PROTOCOL = 'http/protobuf';
const NONE: ReadTracing = { tracing: null, warnings: [] };
const without = (why: string): ReadTracing => ({
  tracing: null,
  warnings: [`${why}; no traces are exported`],
});

const TRACES_PATH = 'v1/traces';

/** The endpoint for traces alone is taken as it is, the one for all signals with the path of OTLP. */
function urlOf(otlpEndpoint: string | undefined, environment: Environment): string | null {
  const ofTraces = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  if (otlpEndpoint === undefined && ofTraces !== undefined && ofTraces !== '') return ofTraces;
  const base = otlpEndpoint ?? environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (base === undefined || base === '') return null;
  if (!URL.canParse(base)) return base;
  const url = new URL(base);
  if (!url.pathname.endsWith(`/${TRACES_PATH}`))
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${TRACES_PATH}`;
  return url.href;
}

const isSwitchedOff = (environment: Environment): boolean =>
  environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || environment.OTEL_TRACES_EXPORTER === 'none';

function given(environment: Environment, ...names: readonly string[]): string | undefined {
  const values = names.map((name) => environment[`OTEL_EXPORTER_OTLP_${name}`]);
  return values.find((value) => value !== undefined && value !== '');
}

/** By the names that OpenTelemetry has; `arg` is for those of a share. */
type Sampler = (ratio: number) => Sampling;
const SAMPLERS: ReadonlyMap<string, Sampler> = new Map<string, Sampler>([
  ['always_on', () => ({ ratio: 1, isParentBased: false })],
  ['always_off', () => ({ ratio: 0, isParentBased: false })],
  ['traceidratio', (ratio) => ({ ratio, isParentBased: false })],
  ['parentbased_always_on', () => ({ ratio: 1, isParentBased: true })],
  ['parentbased_always_off', () => ({ ratio: 0, isParentBased: true })],
  ['parentbased_traceidratio', (ratio) => ({ ratio, isParentBased: true })],
]);

function samplingOf(environment: Environment): Sampling | null {
  const ratio = Number(environment.OTEL_TRACES_SAMPLER_ARG || '1');
  if (!(ratio >= 0 && ratio <= 1)) return null;
  return SAMPLERS.get(environment.OTEL_TRACES_SAMPLER || 'parentbased_always_on')?.(ratio) ?? null;
}
