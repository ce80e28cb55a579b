import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { EventLogOptions } from '../shared/event-log/open.ts';
import { readLogSettings } from '../shared/log-settings.ts';
import type { LogOptions } from '../shared/option-groups.ts';
import type { Address } from '../shared/option-types.ts';
import { openServiceProcess, type ServiceProcess } from '../shared/service-process.ts';
import { systemSources } from '../shared/system-sources.ts';
import { readTextFile } from '../shared/text-file.ts';
import type { VerbContext } from '../shared/verb.ts';

export interface ProcessOptions extends LogOptions {
  readonly httpAddress: Address | null;
}

/** Opens what every service verb runs in; `service` names it in metrics and to the brokers. */
export const openProcess = (
  service: string,
  options: ProcessOptions,
  { logger }: Pick<VerbContext, 'logger'>,
): Promise<ServiceProcess> =>
  openProcessOn({
    service,
    eventLog: readLogSettings(options, { clientId: `fleetgc-${service}`, readTextFile }),
    httpAddress: options.httpAddress,
    logger,
  });

export interface ProcessNeeds {
  readonly service: string;
  readonly eventLog: EventLogOptions;
  readonly httpAddress: Address | null;
  readonly logger: Logger;
}

/** The same on an event log that is settled already. */
export function openProcessOn({ service, ...needs }: ProcessNeeds): Promise<ServiceProcess> {
  const { version } = packageJson;
  needs.logger.info({ version, log: needs.eventLog.kind }, 'starting');
  return openServiceProcess({ ...needs, build: { service, version }, sources: systemSources });
}
