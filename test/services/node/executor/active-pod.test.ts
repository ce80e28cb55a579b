import { describe, expect, test } from 'vitest';
import { activePod } from '../../../../services/node/executor/checks.ts';
import { completeListing, listedContainer, listedSandbox } from '../../../fixtures/listing.ts';
import { POD_LABELS } from './support/executor-node.ts';

const container = (over = {}) => listedContainer('c', { state: 'running', labels: POD_LABELS, ...over });
const sandbox = (over = {}) => listedSandbox('s', { state: 'ready', podUid: 'pod-1', ...over });
const OTHERS = { 'io.kubernetes.pod.uid': 'pod-2' };

describe('logs of a pod stay', () => {
  test.each([
    {
      name: '[I3, K2] while a container of it runs',
      listing: { containers: [container()] },
      refusal: { reason: 'running', message: 'container c of the pod runs' },
    },
    {
      name: '[I3, K2] while a sandbox of it is ready',
      listing: { sandboxes: [sandbox()] },
      refusal: { reason: 'ready', message: 'sandbox s of the pod is ready' },
    },
    {
      name: '[I3, K2] while a sandbox is ready that names it by label alone',
      listing: { sandboxes: [sandbox({ podUid: '', labels: POD_LABELS })] },
      refusal: { reason: 'ready', message: 'sandbox s of the pod is ready' },
    },
  ])('$name', ({ listing, refusal }) => {
    expect(activePod('pod-1', completeListing(listing))).toEqual(refusal);
  });
});

describe('logs of a pod may go', () => {
  test.each([
    { name: 'that has nothing any more', listing: {} },
    { name: 'whose container has exited', listing: { containers: [container({ state: 'exited' })] } },
    { name: 'whose sandbox is not ready', listing: { sandboxes: [sandbox({ state: 'notReady' })] } },
    {
      name: 'while others run',
      listing: {
        containers: [container({ labels: OTHERS }), container({ labels: {} })],
        sandboxes: [sandbox({ podUid: 'pod-2', labels: OTHERS })],
      },
    },
  ])('$name', ({ listing }) => {
    expect(activePod('pod-1', completeListing(listing))).toBeUndefined();
  });
});
