import type { LogPublisher } from '../../../../packages/log/port.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { RequiredTrust, TRUST_OFF, type Trust } from '../../../../packages/records/trust/trust.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { functionOn, type OpenFunction } from '../../../../services/deciders/functions/open-function.ts';
import { noPolicies } from '../../../../services/deciders/functions/policies/function-policies.ts';
import { diskStats } from '../../../../test/fixtures/disk-stats.ts';
import { certified, FLEET, newKey, rootsOf, SIGNED_AT_MS } from '../../../../test/fixtures/trust.ts';
import { lying, outgoing } from '../../../../test/services/deciders/functions/support/function-events.ts';
import { NO_METRICS, SILENT } from '../../../../test/support/silent.ts';

const pressure = await loadFunction('pressure');

export const DECIDER = pressure;
const [root, node] = [newKey(), newKey()];
const STATS = diskStats();

/** What its node signed; of all else nobody says so. */
export const SIGNED = {
  ...lying('diskStats', STATS),
  ...signRecord(outgoing('diskStats', STATS), { fleet: FLEET, key: node, generation: null }),
};

/** Believes what the node signed, and nothing else. */
export function strictTrust(): Trust {
  const ring = new KeyRing(rootsOf(root));
  ring.add(certified(root, node, { role: 'node', clusters: [STATS.cluster], nodes: [STATS.node] }));
  return new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
}

/** `log`: where what follows goes; `null`: to whoever calls. */
export const openFunction = (trust: Trust = TRUST_OFF, log: LogPublisher | null = null): OpenFunction =>
  functionOn(DECIDER, noPolicies(), {
    log,
    kafkaPrefix: '',
    trust,
    metrics: NO_METRICS,
    logger: SILENT,
    sources: { ...systemSources, now: () => SIGNED_AT_MS },
    signer: UNSIGNED,
    heads: null,
  });
