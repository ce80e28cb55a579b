import type { AccessRight } from '../../packages/kube-api/access-review.ts';
import type { ServerVersion } from '../../packages/kube-api/discovery.ts';
import type { LeaseTimes } from '../../packages/kube-api/lease.ts';
import type { ServerTime } from '../../packages/kube-api/server-clock.ts';
import type { StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import { CLUSTER_SILENT_AFTER_MS } from '../../packages/read-model/fleet-watch.ts';
import { counted } from '../../packages/text/counted.ts';
import type { Census } from '../../schemas/events/census.ts';
import type { Selection } from '../../schemas/policy/policy-selection.ts';
import type { Part } from '../cluster/access/rights.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from './checks.ts';
import { CLOCK_TOLERANCE_MS, unreadableFinding } from './log-findings.ts';

/** For what needs the API server, where it is not reached. */
export const NO_API_SERVER: Finding = skipped('The API server is not reached; see api-server.');

export function apiServerFinding(
  found: Looked<{ readonly server: string; readonly clusterInstance: string }>,
): Finding {
  if (found.ok) return ok(`${found.value.server}, cluster instance ${found.value.clusterInstance}`);
  const { code, message } = found.error;
  return problem(
    message,
    code === 'CONFIG_INVALID'
      ? 'Correct --kubeconfig or --context: no process with them starts.'
      : 'Nothing is collected while the API server does not answer this account. See docs/operating/clusters.md#rights.',
  );
}

/** As clusters.md says. */
export const LEAST_MINOR = 30;
/** The newest that tests run against. */
const TESTED_MINOR = 34;

export function serverVersionFinding(found: Looked<ServerVersion>): Finding {
  if (!found.ok)
    return skipped(
      `Nobody knows its version: ${found.error.message}. Kubernetes 1.${LEAST_MINOR} is needed.`,
    );
  const { major, minor, text } = found.value;
  if (major === 1 && minor < LEAST_MINOR)
    return problem(text, `FleetGC needs Kubernetes 1.${LEAST_MINOR} or newer.`);
  return major === 1 && minor <= TESTED_MINOR
    ? ok(text)
    : warning(text, `FleetGC is tested up to Kubernetes 1.${TESTED_MINOR}: begin with mode: dry-run.`);
}

export interface ClusterRightsFacts {
  /** How many rights were asked for. */
  readonly wanted: number;
  readonly missing: readonly AccessRight[];
  /** Whether what it takes to remove was among them. */
  readonly isForRemoving: boolean;
}

/** Of many that are missing, a few say which role is missing. */
const MOST_NAMED = 12;

export function clusterRightsFinding(part: Part, found: Looked<ClusterRightsFacts>): Finding {
  if (!found.ok) return problem(`Nobody knows what this account may do: ${found.error.message}`, PRINT(part));
  const { wanted, missing, isForRemoving } = found.value;
  const about = isForRemoving ? '' : ', to read alone: no policy in mode enforce selects this cluster';
  if (missing.length === 0) return ok(`all ${counted(wanted, 'right')} that it needs${about}`);
  const more = missing.length - MOST_NAMED;
  const named = missing.slice(0, MOST_NAMED).map(rightText).join(', ');
  return problem(
    `${missing.length} of ${counted(wanted, 'right')} are missing${about}: ${named}${more > 0 ? `, and ${more} more` : ''}.`,
    PRINT(part),
  );
}

const PRINT = (part: Part): string =>
  `fleetgc cluster rbac --part ${part} --kubeconfig FILE prints what is needed; kubectl apply -f - gives it.`;

function rightText(right: AccessRight): string {
  if ('path' in right) return `${right.verb} ${right.path}`;
  const { group, resource, verb, name, namespace } = right;
  const object = name === undefined ? '' : ` ${name}`;
  return `${verb} ${group === '' ? resource : `${resource}.${group}`}${object}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

export interface ApiClockFacts {
  /** Epoch milliseconds, by this machine. */
  readonly nowMs: number;
  /** By the header Date of its answers; `null` where none told a time that can be believed. */
  readonly server: ServerTime | null;
}

/** The agent goes by the API server's clock, and its facts are dated by it; this machine dates envelopes and checks certificates. */
export function apiClockFinding(found: Looked<ApiClockFacts>): Finding {
  if (!found.ok) return NO_API_SERVER;
  const { nowMs, server } = found.value;
  if (server === null) return skipped('The API server has not told the time.');
  const behindMs = server.earliestMs - nowMs;
  const aheadMs = nowMs - server.latestMs;
  if (Math.max(behindMs, aheadMs) <= CLOCK_TOLERANCE_MS)
    return ok(`within ${CLOCK_TOLERANCE_MS / MINUTE_MS} min of the clock of the API server`);
  const [ms, where] = behindMs > 0 ? [behindMs, 'behind'] : [aheadMs, 'ahead of'];
  return problem(
    `This clock is ${Math.round(ms / MINUTE_MS)} min ${where} that of the API server.`,
    'Set the clock that is wrong: let chrony or systemd-timesyncd do it. Ages count by the clock of the API server.',
  );
}

export interface LeaseFacts {
  readonly name: string;
  readonly namespace: string;
  /** `null`: there is none. */
  readonly lease: LeaseTimes | null;
  readonly now: ServerTime | null;
}

/** A holder renews it many times within its duration; clocks may differ. */
const LONG_SECONDS = 60;

export function leaseFinding(part: Part, found: Looked<LeaseFacts> | null): Finding {
  if (found === null)
    return skipped(
      part === 'run' ? 'cluster run uses no Lease.' : 'With --lease-namespace none replicas take no turns.',
    );
  if (!found.ok) return problem(found.error.message, PRINT(part));
  const { name, namespace, lease, now } = found.value;
  const start = `Start fleetgc cluster ${part}, or look at its logger output.`;
  if (lease === null) return warning(`There is no Lease ${namespace}/${name}: it never ran here.`, start);
  const { holder, renewedAtMs } = lease;
  if (holder === '' || renewedAtMs === null)
    return warning(`Nobody holds the Lease ${namespace}/${name}.`, start);
  const ageMs = now === null ? 0 : now.earliestMs - renewedAtMs;
  const seconds = Math.round(ageMs / 1_000);
  return seconds > LONG_SECONDS
    ? warning(`${holder} holds ${namespace}/${name}, and has not renewed it for ${seconds} s.`, start)
    : ok(`${holder} holds ${namespace}/${name}`);
}

export interface AgentFacts {
  /** What the agent of the cluster told last; `null`: nothing. */
  readonly last: Pick<Census, 'cluster' | 'clusterInstance' | 'takenAt'> | null;
  readonly nowMs: number;
  /** Of the API server that was asked; `null` where it is not reached. */
  readonly instance: string | null;
}

export function agentFinding(cluster: string, found: Looked<AgentFacts>): Finding {
  if (!found.ok)
    return skipped(
      found.error.code === 'LOG_UNAUTHORIZED'
        ? 'This login may not read gc.cluster.census; "fleetgc status" says whether the agent is heard.'
        : `Nobody knows whether the agent is heard: ${found.error.message}`,
    );
  const { last, nowMs, instance } = found.value;
  const start = 'Start fleetgc cluster agent or cluster run; check its /readyz and its logs.';
  if (last === null) return warning(`Nothing was ever heard of the agent of ${cluster}.`, start);
  if (instance !== null && last.clusterInstance !== instance)
    return problem(
      `The name ${cluster} was told last by cluster instance ${last.clusterInstance}, and this is ${instance}.`,
      'Two clusters have one name, or this one was made anew: give each a --cluster of its own.',
    );
  const ageMs = nowMs - last.takenAt.serverMs;
  const minutes = Math.max(0, Math.floor(ageMs / MINUTE_MS));
  return ageMs > CLUSTER_SILENT_AFTER_MS
    ? problem(
        `The agent was heard last ${minutes} min ago; it tells how the cluster stands every ten.`,
        start,
      )
    : ok(`heard ${minutes} min ago`);
}

export interface ClusterPolicyFacts extends Pick<StoredPolicies, 'unreadable' | 'lost'> {
  readonly selection: Selection<'cluster'>;
  /** How many policies for clusters there are. */
  readonly policies: number;
  /** Signatures count, and could not be looked at here. */
  readonly areSignaturesMissing: boolean;
}

export function clusterPolicyFinding(found: Looked<ClusterPolicyFacts>): Finding {
  if (!found.ok) return problem(found.error.message, 'Nothing is removed while the policies cannot be read.');
  const { selection, policies } = found.value;
  const wrong = unreadableFinding(found.value);
  if (wrong !== null) return wrong;
  switch (selection.kind) {
    case 'paused':
      return warning(
        `a pause holds: ${selection.pause.reason || 'no reason was given'}`,
        'Nothing is removed here until somebody ends it: fleetgc policy list shows it, fleetgc resume ends it.',
      );
    case 'too-costly':
      return problem(
        'the choice of the policy takes more steps than it may, so everything is kept',
        'Shorten the lists of names in the selectors of policies and pauses: fleetgc policy list shows them.',
      );
    case 'none':
      return warning(
        policies === 0
          ? 'there is no policy for clusters'
          : `none of ${counted(policies, 'policy', 'policies')} for clusters selects this one`,
        'Without one everything is kept: fleetgc policy apply (docs/reference/cluster-policies.md).',
      );
    case 'policy': {
      const { name, mode } = selection.record.policy;
      return mode === 'enforce'
        ? ok(`${name}, mode enforce`)
        : warning(`${name}, mode ${mode}`, 'Nothing is removed in this mode.');
    }
  }
}
