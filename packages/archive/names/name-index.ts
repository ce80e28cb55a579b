import type { TopicId } from '../../../schemas/events/topics.ts';
import type { EventLog } from '../../log/port.ts';
import type { TimeRange } from '../../records/read-log.ts';
import {
  type ActedName,
  isActedName,
  isListedName,
  type ListedName,
  type NameLine,
  type NameLines,
} from './name-lines.ts';

export interface NameSearch {
  readonly topics: readonly TopicId[];
  readonly range: TimeRange;
  /** Only lines in which one of these stands; `null`: all. */
  readonly texts: readonly string[] | null;
}

/** What is wanted of files that the range cuts. */
export interface PartSearch extends Pick<NameSearch, 'range' | 'texts'> {
  /** Of these nodes the records in the range are read. */
  readonly keys: ReadonlySet<string>;
}

/** What the index of one file says. */
export interface FoundNames extends NameLines {
  /** Of the file. */
  readonly name: string;
  readonly topicId: TopicId;
  readonly partition: number;
  /** Whether some of its records may lie outside of the range. */
  readonly isCut: boolean;
  readonly records: number;
}

/** Knows where names stand without reading the records. What it says may be too much, and never too little. */
export interface NameIndex {
  /** By topic and partition, in the order of the log. `null`: some files of that time have no index. */
  search(search: NameSearch, signal: AbortSignal): Promise<readonly FoundNames[] | null>;
  /** The same files; those that the range cuts say of the wanted nodes what lies in it alone. */
  withinRange(
    files: readonly FoundNames[],
    search: PartSearch,
    signal: AbortSignal,
  ): Promise<readonly FoundNames[]>;
  /** The names in the last file of each partition, for those who asked for what never was. */
  lastNames(search: NameSearch, signal: AbortSignal): Promise<readonly FoundNames[]>;
  /** The same log, of these nodes alone. */
  ofNodes(keys: readonly string[]): Pick<EventLog, 'read'>;
}

/** A line of an index, and the file that it is about. */
export interface Found<Line> {
  readonly line: Line;
  readonly file: FoundNames;
}

/** The same for one of the nodes that it is about. */
interface OnNode<Line> extends Found<Line> {
  readonly key: string;
}

export const isListed = (found: OnNode<NameLine>): found is OnNode<ListedName> => isListedName(found.line);
export const isActed = (found: OnNode<NameLine>): found is OnNode<ActedName> => isActedName(found.line);

/** The lines that are wanted, once for each node. */
export const linesOnNodes = (
  files: readonly FoundNames[],
  isWanted: (line: NameLine) => boolean,
): OnNode<NameLine>[] =>
  files.flatMap((file) =>
    file.lines.filter(isWanted).flatMap((line) => Object.keys(line.on).map((key) => ({ key, line, file }))),
  );
