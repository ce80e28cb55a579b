import { describe, expect, test } from 'vitest';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import { Command, ContainerRemoval } from '../../../../schemas/events/command.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import type { Inventory } from '../../../../schemas/events/inventory.ts';
import { Observe } from '../../../../schemas/events/observe.ts';
import { PressureUnrelieved } from '../../../../schemas/events/result.ts';
import type { PolicySet } from '../../../../schemas/policy/policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { input } from '../../../fixtures/input.ts';
import {
  container,
  gonePod,
  incompleteInventory,
  inventory,
  logSymlink,
  NODE,
  podLogDirectory,
  sandbox,
  tooLargeInventory,
  uid,
} from '../../../fixtures/inventory.ts';
import { NO_POLICY, POLICY_FOR_OTHERS, pauseRecord, policySet } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { instant } from '../../../fixtures/time.ts';
import { ofKind, verdictsOf } from '../../../fixtures/verdicts.ts';

/** One container in one sandbox of a pod that is gone. */
const withDead = (overrides: Partial<typeof emptyNode> = {}) =>
  inventory({
    containers: [container('c', { sandboxId: 's' })],
    sandboxes: [sandbox('s')],
    pods: [gonePod('pod-1')],
    ...overrides,
  });
const emptyNode = inventory();
const atContainers = { reclaim: reclaim({ step: 'containers' }) };
const atImages = { reclaim: reclaim({ step: 'images', round: 3 }) };

const handled = async (given: Inventory = withDead(), policies: PolicySet = policySet()) => {
  const stages = await containerGcHandler(() => policies)(input('inventory', given));
  const [[recorded] = [], [followUp] = []] = stages;
  return {
    stages: stages.map((stage) => stage.map(({ topic, key }) => `${topic} ${key}`)),
    record: Decision.parse(recorded?.event),
    followUp: followUp?.event,
  };
};

test('[M38] the record comes first, then the command, both naming each other', async () => {
  const { stages, record, followUp } = await handled();
  expect(stages).toEqual([['decisions prod/web-1'], ['commands prod/web-1']]);
  const command = ContainerRemoval.parse(followUp);
  expect(command).toMatchObject({
    ...NODE,
    decisionId: record.id,
    inventoryId: 'inventory-1',
    takenAt: instant(),
    lifetimeMs: 60_000,
    reclaim: null,
    items: [
      { kind: 'container', id: 'c', rule: 'G6', podGone: true },
      { kind: 'sandbox', id: 's', rule: 'H2', podGone: true },
    ],
  });
  expect(record).toMatchObject({ outcome: 'commanded', outputIds: [command.id], estimatedBytes: 0 });
  expect(record.reason).toBe('1 container(s) and 1 sandbox(es) go');
  expect(record.verdicts).toMatchObject(
    verdictsOf({ container: [{ rule: 'G6' }], sandbox: [{ rule: 'H2' }] }),
  );
  expect(record.verdicts).toHaveLength(2);
});

test('[M6] a redelivered inventory gives the same bytes', async () => {
  expect(JSON.stringify(await handled())).toBe(JSON.stringify(await handled()));
});

describe('in a reclaim', () => {
  test('a command at the step of the containers carries the reclaim, for the executor to go on with', async () => {
    const { followUp } = await handled(withDead(atContainers));
    expect(ContainerRemoval.parse(followUp).reclaim).toEqual(atContainers.reclaim);
  });

  test.each([
    { name: 'nothing to remove', given: inventory(atContainers), policies: policySet(), outcome: 'ordered' },
    {
      name: 'nothing to remove, in dry-run',
      given: inventory(atContainers),
      policies: policySet({ mode: 'dry-run' }),
      outcome: 'ordered',
    },
    {
      name: 'something to remove, in dry-run',
      given: withDead(atContainers),
      policies: policySet({ mode: 'dry-run' }),
      outcome: 'dry-run',
    },
  ])('$name: the reclaim goes on to its images', async ({ given, policies, outcome }) => {
    const { stages, record, followUp } = await handled(given, policies);
    expect(stages).toEqual([['decisions prod/web-1'], ['observe prod/web-1']]);
    const order = Observe.parse(followUp);
    expect(order).toMatchObject({
      ...NODE,
      takenAt: instant(),
      lifetimeMs: 60_000,
      reclaim: { ...atContainers.reclaim, step: 'images', round: 1 },
    });
    expect(record).toMatchObject({ outcome, outputIds: [order.id], reclaim: atContainers.reclaim });
  });

  describe('[J5] of containers alone', () => {
    const onlyContainers = (atLeast: string) => ({
      reclaim: reclaim({
        cause: { ...reclaim().cause, signal: 'nodefs.available' },
        actions: ['containers'],
        step: 'containers',
        target: { filesystem: 'nodefs', resource: 'availableBytes', atLeast },
      }),
    });

    test('nothing to remove above the target: that pressure is unrelieved', async () => {
      const { stages, record, followUp } = await handled(inventory(onlyContainers('101')));
      expect(stages).toEqual([['decisions prod/web-1'], ['decisions prod/web-1']]);
      expect(record).toMatchObject({ outcome: 'unrelieved', outputIds: [] });
      expect(PressureUnrelieved.parse(followUp)).toMatchObject({
        ...NODE,
        reclaim: { actions: ['containers'] },
        availableNow: '100',
        holders: [],
      });
    });

    test.each([
      { name: 'with the target reached', given: inventory(onlyContainers('100')) },
      {
        name: 'on a disk that cannot be read',
        given: inventory({ ...onlyContainers('101'), filesystems: filesystems({ availableBytes: null }) }),
      },
    ])('nothing to remove $name: nothing follows', async ({ given }) => {
      const { stages, record } = await handled(given);
      expect(stages).toHaveLength(1);
      expect(record.outcome).toBe('nothing-to-do');
    });

    test('in dry-run nothing follows', async () => {
      const { stages } = await handled(withDead(onlyContainers('101')), policySet({ mode: 'dry-run' }));
      expect(stages).toHaveLength(1);
    });
  });

  test('[P7] at its images containers wait, and the record says so', async () => {
    const { stages, record } = await handled(withDead(atImages));
    expect(stages).toEqual([['decisions prod/web-1']]);
    expect(record).toMatchObject({ outcome: 'nothing-to-do', outputIds: [] });
    expect(ofKind(record.verdicts, 'container')).toMatchObject([
      { action: 'keep', rule: 'P7', facts: { selectedBy: 'G6' } },
    ]);
    expect(ofKind(record.verdicts, 'sandbox')).toMatchObject([{ action: 'keep', rule: 'H1' }]);
  });

  test('a node that accepts no command version gets neither a command nor the next step', async () => {
    const { stages, record } = await handled(withDead({ ...atContainers, commandVersions: [2] }));
    expect(stages).toHaveLength(1);
    expect(record.outcome).toBe('no-common-version');
  });

  test.each([
    { name: 'incomplete', given: incompleteInventory },
    { name: 'too large', given: tooLargeInventory },
  ])('[P3] an inventory that is $name moves nothing', async ({ given }) => {
    const { stages, record } = await handled({ ...given, ...atContainers });
    expect(stages).toHaveLength(1);
    expect(record).toMatchObject({ outcome: 'not-believed', notBelieved: [{ rule: 'P3' }], outputIds: [] });
  });
});

describe('without a reclaim', () => {
  test('nothing to remove is only recorded', async () => {
    const { stages, record } = await handled(inventory());
    expect(stages).toHaveLength(1);
    expect(record.outcome).toBe('nothing-to-do');
  });

  test('dry-run is only recorded, with the same verdicts', async () => {
    const { stages, record } = await handled(withDead(), policySet({ mode: 'dry-run' }));
    expect(stages).toHaveLength(1);
    expect(record.outcome).toBe('dry-run');
    expect(record.verdicts).toEqual((await handled()).record.verdicts);
  });

  test('a disk reading that nobody believes keeps no container', async () => {
    const filesystems = { nodefs: null, imagefs: null, containerfs: null };
    expect((await handled(withDead({ filesystems }))).record.outcome).toBe('commanded');
  });
});

test.each([
  { name: 'no policy', policies: NO_POLICY, outcome: 'no-policy', rule: 'P1' },
  { name: 'a policy for other nodes', policies: POLICY_FOR_OTHERS, outcome: 'no-policy', rule: 'P1' },
  { name: 'a pause', policies: policySet({}, [pauseRecord()]), outcome: 'paused', rule: 'P2' },
])('[$rule] $name keeps every object, and the record says so', async ({ policies, outcome, rule }) => {
  const logs = { podLogDirectories: [podLogDirectory('a_b_c')], logSymlinks: [logSymlink('a-1234567.log')] };
  const { stages, record } = await handled(withDead({ ...atContainers, ...logs }), policies);
  const kept = [{ position: 0, action: 'keep', rule, facts: {} }];
  expect(stages).toHaveLength(1);
  expect(record).toMatchObject({ outcome, outputIds: [] });
  expect(record.verdicts).toEqual(
    verdictsOf({ container: kept, sandbox: kept, 'pod-log-directory': kept, 'log-symlink': kept }),
  );
  expect((await handled(incompleteInventory, policies)).record.verdicts).toEqual([]);
});

test('[G1, I3, J14] logs go by the same command as containers and sandboxes, after them', async () => {
  const podLogDirectories = [podLogDirectory(`default_web_${uid(1)}`)];
  const logs = { podLogDirectories, pods: [gonePod('pod-1'), gonePod(uid(1))], ...atContainers };
  const { stages, record, followUp } = await handled(withDead(logs));
  expect(stages).toEqual([['decisions prod/web-1'], ['commands prod/web-1']]);
  const command = Command.parse(followUp);
  expect(command).toMatchObject({ kind: 'container-removal', reclaim: { step: 'containers' } });
  expect(command.items.slice(2)).toEqual([
    {
      kind: 'pod-log-directory',
      id: `default_web_${uid(1)}`,
      podUid: uid(1),
      podGone: true,
      rule: 'I3',
    },
  ]);
  expect(record.outputIds).toEqual([command.id]);
  expect(ofKind(record.verdicts, 'pod-log-directory')).toMatchObject([{ action: 'remove', rule: 'I3' }]);
});

test('[I3] logs alone are reason enough for a command', async () => {
  const given = inventory({
    podLogDirectories: [podLogDirectory(`default_web_${uid(1)}`)],
    pods: [gonePod(uid(1))],
  });
  const { record, followUp } = await handled(given);
  expect(record).toMatchObject({
    outcome: 'commanded',
    reason: '0 container(s) and 0 sandbox(es) go, with 1 log entr(ies)',
  });
  expect(Command.parse(followUp).items.map(({ kind }) => kind)).toEqual(['pod-log-directory']);
});
