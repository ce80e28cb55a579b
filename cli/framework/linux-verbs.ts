import { FleetGcError } from '../../packages/process/errors.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';

interface LinuxNeed {
  /** What of Linux it looks at, or makes up. */
  readonly needs: string;
  /** The option with which it looks at no machine. */
  readonly unless?: string;
}

const A_NODE = 'it works on a node';
const A_SIMULATED_NODE = 'its simulated nodes have the clock and the sockets of Linux';

/** The verbs that work on Linux alone. All others ask and steer from anywhere. */
const LINUX_VERBS: Readonly<Record<string, LinuxNeed>> = {
  run: { needs: A_NODE },
  node: { needs: A_NODE },
  'node-agent': { needs: A_NODE },
  'node-executor': { needs: A_NODE },
  'cri-proxy': { needs: A_NODE },
  'doctor node': { needs: A_NODE },
  plan: { needs: 'it looks at a node', unless: 'inventory' },
  demo: { needs: A_SIMULATED_NODE },
  'simulate-node': { needs: A_SIMULATED_NODE },
};
export const LINUX_VERB_NAMES: readonly string[] = Object.keys(LINUX_VERBS);

const PLATFORM_NAMES: Partial<Readonly<Record<NodeJS.Platform, string>>> = {
  win32: 'Windows',
  darwin: 'macOS',
};

/** Throws `PLATFORM_UNSUPPORTED` where the verb cannot work on this platform with these options. */
export function refuseElsewhere(
  verbName: string,
  flags: OptionSources['flags'],
  platform: NodeJS.Platform,
): void {
  const need = LINUX_VERBS[verbName];
  if (need === undefined || platform === 'linux') return;
  const { needs, unless } = need;
  if (unless !== undefined && flags[unless] !== undefined) return;
  const where = PLATFORM_NAMES[platform] ?? platform;
  const instead = unless === undefined ? '' : ` With --${unless} it looks at no machine, and works here too.`;
  throw new FleetGcError(
    'PLATFORM_UNSUPPORTED',
    `not supported on ${where}: ${needs}, which has to run Linux. Run it on a Linux machine.${instead} Verbs that ask or steer a fleet work from here, with Kafka.`,
  );
}
