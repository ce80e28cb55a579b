import { AssignerProtocol, type GroupMember } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { planShared } from '../../../../packages/log/kafka/client/consumer.ts';

const member = (memberId: string): GroupMember => ({
  memberId,
  memberMetadata: AssignerProtocol.MemberMetadata.encode({
    version: 0,
    topics: ['gc.node.inventory'],
    userData: Buffer.from('{}'),
  }),
});

describe('a shared group', () => {
  const topics = ['gc.node.inventory', 'gc.node.disk-stats', 'gc.policies'] as const;

  test.each([1, 2, 3, 5, 32, 40])(
    'of %i members: every declared partition has exactly one owner',
    (count) => {
      const members = Array.from({ length: count }, (_, index) => member(`m${index}`));
      const plan = planShared(members, topics);
      const given = (topic: string) => [...plan.values()].flatMap((assignment) => assignment[topic] ?? []);
      const all = Array.from({ length: 32 }, (_, partition) => partition);
      expect(given('gc.node.inventory').toSorted((a, b) => a - b)).toEqual(all);
      expect(given('gc.node.disk-stats').toSorted((a, b) => a - b)).toEqual(all);
      expect(given('gc.policies')).toEqual([0]);
      const sizes = [...plan.values()].map((assignment) => assignment['gc.node.inventory']?.length ?? 0);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    },
  );

  test('the same node goes to the same member on all topics, whatever the order of the members', () => {
    const [a, b, c] = [member('a'), member('b'), member('c')];
    const plan = planShared([a, b, c], topics);
    for (const assignment of plan.values()) {
      expect(assignment['gc.node.inventory']).toEqual(assignment['gc.node.disk-stats']);
    }
    expect(planShared([c, a, b], topics)).toEqual(plan);
  });
});
