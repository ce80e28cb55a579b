import { expect, test } from 'vitest';
import { InventoryLogSymlink, InventoryPodLogDirectory } from '../../schemas/events/pod-log-entries.ts';

const OUTSIDE = ['', '.', '..', '../etc_x_1', 'a/b', '/etc', 'a\0b'];

test.each(OUTSIDE)('[I2, I5] an entry named %j is none that a directory lists', (name) => {
  expect(InventoryPodLogDirectory.safeParse({ name, podUid: '1' }).success).toBe(false);
  expect(InventoryLogSymlink.safeParse({ name, container: 'exited' }).success).toBe(false);
});

test.each(['default_web_1', '...', '.hidden', '..a', 'a..b.log', 'ä b'])('an entry named %j is', (name) => {
  expect(InventoryPodLogDirectory.safeParse({ name, podUid: '1' }).success).toBe(true);
  expect(InventoryLogSymlink.safeParse({ name, container: 'exited' }).success).toBe(true);
});
