import { task, type VerbGroup } from './framework/verb.ts';

/** Of the list of verbs, those that ask the event log, and those about messages that could not be processed. */
export const ASKING_VERBS = [
  {
    heading: 'Ask the event log:',
    verbs: [
      task(
        'audit verify',
        'Check the event log: make every decision again, and trace every command and removal',
        () => import('./verbs/audit/verify.ts'),
      ),
      task(
        'audit explain',
        'Tell what happened to an image, container, pod, node or object of a cluster, and by which rule',
        () => import('./verbs/audit/explain.ts'),
      ),
      task(
        'audit simulate',
        'Run other policies over the recorded past, and compare what they remove',
        () => import('./verbs/audit/simulate.ts'),
      ),
      task(
        'audit report',
        'Report what was freed, removed, held, refused and pulled again',
        () => import('./verbs/audit/report.ts'),
      ),
      {
        ...task(
          'audit archive',
          'Copy the event log into Parquet files, which outlast its retention',
          () => import('./verbs/audit/archive.ts'),
        ),
        serviceSwitch: 'follow',
      },
      task(
        'audit archive check',
        'Check that nothing in an archive was changed, added or removed',
        () => import('./verbs/audit/archive-check.ts'),
      ),
      task('audit query', 'Ask an archive in SQL', () => import('./verbs/audit/query.ts')),
      task(
        'audit events',
        'Print records as CloudEvents, with their exact bytes',
        () => import('./verbs/audit/events.ts'),
      ),
    ],
  },
  {
    heading: 'Messages that could not be processed:',
    verbs: [
      task('dead-letters list', 'List them, oldest first', () => import('./verbs/dead-letters/list.ts')),
      task(
        'dead-letters show',
        'Show one, with its cause and content',
        () => import('./verbs/dead-letters/show.ts'),
      ),
      task(
        'dead-letters redrive',
        'Put them back on their topics, once the cause is mended',
        () => import('./verbs/dead-letters/redrive.ts'),
      ),
    ],
  },
] as const satisfies readonly VerbGroup[];
