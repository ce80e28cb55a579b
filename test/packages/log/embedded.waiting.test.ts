import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EventLogOptions } from '../../../packages/log/open.ts';
import { eventLogContract } from './contract.ts';

eventLogContract('embedded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-event-log-'));
  const path = join(directory, 'made-when-missing', 'events.sqlite');
  return {
    options: EventLogOptions.parse({ kind: 'embedded', path }),
    sessionMs: 6000,
    addPartitions: async (topic, total) => {
      const db = new DatabaseSync(path, { timeout: 1000 });
      const add = db.prepare('INSERT INTO partitions (topic, partition) VALUES (?, ?)');
      for (let number = 32; number < total; number += 1) add.run(topic, number);
      db.close();
    },
    deleteTopic: async (topic) => {
      const db = new DatabaseSync(path, { timeout: 1000 });
      db.prepare('DELETE FROM records WHERE partition_id IN (SELECT id FROM partitions WHERE topic = ?)').run(
        topic,
      );
      db.prepare('DELETE FROM partitions WHERE topic = ?').run(topic);
      db.close();
    },
    [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true }),
  };
});
