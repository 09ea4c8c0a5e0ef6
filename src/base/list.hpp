// A doubly linked list whose links live in the elements. Not thread-safe.
#pragma once

namespace tarn::base {

/// Derive `Element` from list_links<Element>. An element is in at most one list.
template <class Element>
struct list_links {
  Element* previous = nullptr;
  Element* next = nullptr;
};

/// Invariant: front() has no previous element, back() has no next one, and for each element e, e.next.previous is e.
/// The list does not own its elements.
template <class Element>
class list {
 public:
  bool empty() const noexcept { return front_ == nullptr; }
  Element* front() const noexcept { return front_; }
  Element* last() const noexcept { return last_; }

  void push_front(Element* element) noexcept { insert(nullptr, element, front_); }
  void push_back(Element* element) noexcept { insert(last_, element, nullptr); }

  void remove(Element* element) noexcept {
    (element->previous != nullptr ? element->previous->next : front_) = element->next;
    (element->next != nullptr ? element->next->previous : last_) = element->previous;
    element->previous = element->next = nullptr;
  }

  bool is_valid() const noexcept {
    const Element* before = nullptr;
    for (const Element* element = front_; element != nullptr; element = element->next) {
      if (element->previous != before) return false;
      before = element;
    }
    return last_ == before;
  }

 private:
  void insert(Element* before, Element* element, Element* after) noexcept {
    element->previous = before;
    element->next = after;
    (before != nullptr ? before->next : front_) = element;
    (after != nullptr ? after->previous : last_) = element;
  }

  Element* front_ = nullptr;
  Element* last_ = nullptr;
};

}  // namespace tarn::base
