/** Numbers as people read them. */
/** A count, with separators of thousands. */
export declare function count(value: number): string;
/** A rate with about three digits: 0.42, 7.3, 128, 12.4k. */
export declare function rate(value: number): string;
/** A duration: 0.4 s, 12 s, 3:05, 1:02:00. */
export declare function duration(seconds: number): string;
