import { ENDED_CERTIFICATE, VALID_CERTIFICATE } from '../../../test/fixtures/certificate.ts';
import type { PlayedCertificate, PlayedSpec, PlayedStatus } from '../history/history.ts';

type Body = Readonly<Record<string, unknown>>;
type StatusOf<Of extends PlayedStatus['of']> = Extract<PlayedStatus, { of: Of }>;

/** In whole seconds, as all times of an API server. */
export const timeOf = (atMs: number): string => new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z');

const TAINTS = {
  'out-of-service': [
    { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' },
  ],
  other: [{ key: 'compare.fleetgc.io/other', effect: 'NoSchedule' }],
} as const;

/** As it stands in an object. `nodeName`: how the node of that number is called. */
export function specOf(spec: PlayedSpec, nodeName: (id: number) => string): Body {
  switch (spec.of) {
    case 'pod':
      return { nodeName: nodeName(spec.nodeId) };
    case 'node':
      return { taints: spec.taint === null ? [] : TAINTS[spec.taint] };
    case 'job':
      return { ttlSecondsAfterFinished: spec.ttlSeconds };
  }
}

/** As it stands in an object of which it is told now. */
export function statusOf(status: Exclude<PlayedStatus, { of: 'certificateRequest' }>, nowMs: number): Body {
  switch (status.of) {
    case 'pod':
      return podStatus(status, timeOf(nowMs));
    case 'node':
      return { conditions: status.ready === null ? [] : [condition('Ready', status.ready, timeOf(nowMs))] };
    case 'job':
      return jobStatus(status, nowMs);
  }
}

const condition = (type: string, status: string, lastTransitionTime: string | null, more: Body = {}) => ({
  type,
  status,
  reason: 'Compare',
  message: 'told by the comparison',
  lastTransitionTime,
  ...more,
});

/** What an eviction by the API leaves of itself. */
const EVICTED_BY_API = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };
/** And one by a kubelet. */
const EVICTED = { reason: 'Evicted', message: 'The node was low on resource: memory.' };

function podStatus({ phase, isEvicted }: StatusOf<'pod'>, at: string): Body {
  const hasFailed = phase === 'Failed';
  return {
    phase: phase === '' ? null : phase,
    ...(isEvicted && hasFailed && EVICTED),
    conditions: [
      condition('Ready', phase === 'Running' ? 'True' : 'False', phase === 'Unknown' ? null : at),
      ...(isEvicted && !hasFailed ? [condition('DisruptionTarget', 'True', at, EVICTED_BY_API)] : []),
    ],
  };
}

/** What comes before the condition that says that a Job has ended, and how many pods did. */
const ENDED = {
  Complete: { before: 'SuccessCriteriaMet', count: { succeeded: 1 } },
  Failed: { before: 'FailureTarget', count: { failed: 1 } },
} as const;

function jobStatus({ ended, agoMs }: StatusOf<'job'>, nowMs: number): Body {
  const { before, count } = ENDED[ended];
  const at = timeOf(nowMs - (agoMs ?? 0));
  return {
    startTime: at,
    ...(ended === 'Complete' && { completionTime: at }),
    ...count,
    uncountedTerminatedPods: {},
    conditions: [before, ended].map((type) => condition(type, 'True', agoMs === null ? null : at)),
  };
}

const NOTE = 'issued by the comparison';
const CERTIFICATES: Readonly<Record<PlayedCertificate, readonly string[]>> = {
  ended: [ENDED_CERTIFICATE],
  valid: [VALID_CERTIFICATE],
  'ended-first': [ENDED_CERTIFICATE, VALID_CERTIFICATE],
  'valid-first': [VALID_CERTIFICATE, ENDED_CERTIFICATE],
  'ended-with-a-note': [NOTE, ENDED_CERTIFICATE],
};

/** Base64 of its PEM. */
export const certificateOf = (certificate: PlayedCertificate): string =>
  Buffer.from(`${CERTIFICATES[certificate].join('\n')}\n`).toString('base64');

/** Answers as conditions of a certificate request. */
export const answersOf = ({ answers }: StatusOf<'certificateRequest'>, nowMs: number) =>
  answers.map(({ type, agoMs }) => ({
    type,
    status: type === 'Other' ? 'False' : 'True',
    reason: 'Compare',
    message: 'told by the comparison',
    lastUpdateTime: timeOf(nowMs - agoMs),
  }));
