import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readNode, readPod } from '../../../packages/kube-api/pods.ts';

const CREATED = '2026-01-02T03:04:05Z';
const CREATED_MS = Date.parse(CREATED);

const metadata = { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '1', creationTimestamp: CREATED };
const pod = (over: object = {}, meta: object = {}) =>
  readPod({ metadata: { ...metadata, ...meta }, ...over });
const node = (over: object = {}) => readNode({ metadata, ...over });

describe('of a pod', () => {
  test('[cluster J3, J6, J11] phase, node, times and grace are read, and nothing else', () => {
    const read = pod(
      {
        spec: { nodeName: 'n', containers: [{ name: 'c' }] },
        status: {
          phase: 'Running',
          conditions: [
            { type: 'Ready', status: 'True', lastTransitionTime: '2020-01-01T00:00:00Z' },
            { type: 'PodScheduled', status: 'True', lastTransitionTime: CREATED },
          ],
        },
      },
      { deletionGracePeriodSeconds: 30 },
    );
    expect(read).toEqual({
      phase: 'Running',
      isEvicted: false,
      nodeName: 'n',
      createdAtMs: CREATED_MS,
      boundAtMs: CREATED_MS,
      graceSeconds: 30,
    });
  });

  test('[cluster J3] a pod without a phase has an empty one, and only one that failed is evicted', () => {
    expect(pod()).toMatchObject({ phase: '', nodeName: '', boundAtMs: null, graceSeconds: null });
    expect(pod({ status: { phase: 'Failed', reason: 'Evicted' } })).toMatchObject({ isEvicted: true });
    expect(pod({ status: { phase: 'Running', reason: 'Evicted' } })).toMatchObject({ isEvicted: false });
    expect(pod({ status: { phase: 'Failed', reason: 'Error' } })).toMatchObject({ isEvicted: false });
  });

  test.each([
    ['no creation time', {}, { creationTimestamp: null }],
    ['a creation time that is none', {}, { creationTimestamp: 'yesterday' }],
    ['a phase beyond all bounds', { status: { phase: 'x'.repeat(65) } }, {}],
    ['a node name beyond all bounds', { spec: { nodeName: 'x'.repeat(254) } }, {}],
    ['a node name that is no text', { spec: { nodeName: 7 } }, {}],
    ['a grace that is no number', {}, { deletionGracePeriodSeconds: 'none' }],
  ])('nothing may be concluded from one with %s', (_, over, meta) => {
    expect(pod(over, meta)).toBe(null);
  });
});

describe('of a node', () => {
  test('[cluster J5] it is ready only if it says so itself, and out of service by the key of a taint alone', () => {
    const status = (value: string) => ({ status: { conditions: [{ type: 'Ready', status: value }] } });
    expect(node(status('True'))).toEqual({
      isReady: true,
      isOutOfService: false,
      createdAtMs: CREATED_MS,
    });
    expect(node(status('Unknown'))).toMatchObject({ isReady: false });
    expect(node()).toMatchObject({ isReady: false });
    const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'any', effect: 'NoSchedule' }];
    expect(node({ spec: { taints } })).toMatchObject({ isOutOfService: true });
    expect(node({ spec: { taints: [{ key: 'other', value: 'out-of-service' }] } })).toMatchObject({
      isOutOfService: false,
    });
  });
});

test('whatever a pod or node says, reading it throws nothing and keeps little', () => {
  fc.assert(
    fc.property(fc.constantFrom(readPod, readNode), fc.jsonValue(), fc.jsonValue(), (read, spec, status) => {
      expect(JSON.stringify(read({ metadata, spec, status })).length).toBeLessThan(1_000);
    }),
  );
});
