import packageJson from '../../package.json' with { type: 'json' };
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
export function openProcess(
  service: string,
  options: ProcessOptions,
  { logger }: Pick<VerbContext, 'logger'>,
): Promise<ServiceProcess> {
  const { version } = packageJson;
  logger.info({ version, log: options.log }, 'starting');
  return openServiceProcess({
    build: { service, version },
    eventLog: readLogSettings(options, { clientId: `fleetgc-${service}`, readTextFile }),
    httpAddress: options.httpAddress,
    logger,
    sources: systemSources,
  });
}
