import type { Logger } from 'pino';
import type { EventLogOptions } from '../../packages/log/open.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import type { Address } from '../../packages/process/options/options.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import { openServiceProcess, type ServiceProcess } from '../../packages/service/service-process.ts';
import type { TracingChoice } from '../../packages/tracing/port.ts';
import { readTracing } from '../options/common-options.ts';
import { type EventLogChoice, readEventLogSettings } from '../options/event-log-options.ts';
import type { VerbContext } from './verb.ts';

interface ServiceOptions extends EventLogChoice {
  readonly httpAddress: Address | null;
  readonly otlpEndpoint?: string | undefined;
}

/** Opens what every service verb runs in; `service` names it in metrics and to the brokers. */
export const openService = (
  service: string,
  options: ServiceOptions,
  trust: TrustChoice,
  { logger, environment }: Surrounding,
): Promise<ServiceProcess> =>
  openServiceOn({
    service,
    trust,
    eventLog: readEventLogSettings(options, { clientId: `fleetgc-${service}`, readTextFile }),
    httpAddress: options.httpAddress,
    tracing: tracingOf(options, { logger, environment }),
    logger,
  });

type Surrounding = Pick<VerbContext, 'logger' | 'environment'>;

/** Where traces are sent; `null`: tracing is off. Logs a warning for each setting that is not supported. */
export function tracingOf(
  { otlpEndpoint }: Pick<ServiceOptions, 'otlpEndpoint'>,
  { logger, environment }: Surrounding,
): TracingChoice | null {
  const { tracing, warnings } = readTracing(otlpEndpoint, environment);
  for (const warning of warnings) logger.warn(warning);
  return tracing;
}

interface ServiceNeeds {
  readonly service: string;
  readonly eventLog: EventLogOptions;
  readonly trust: TrustChoice;
  readonly httpAddress: Address | null;
  /** Nobody traces when not given. */
  readonly tracing?: TracingChoice | null;
  readonly logger: Logger;
}

/** The same on an event log that is settled already. */
export function openServiceOn({ service, ...needs }: ServiceNeeds): Promise<ServiceProcess> {
  const version = PRODUCT_VERSION;
  needs.logger.info({ version, log: needs.eventLog.kind }, 'starting');
  return openServiceProcess({ ...needs, build: { service, version }, sources: systemSources });
}

/** For a task that runs on: what is worth a line is on stdout; the services' own log is for those who ask for more. */
export const quieter = (logger: Logger): Logger =>
  logger.level === 'info' ? logger.child({}, { level: 'error' }) : logger;
